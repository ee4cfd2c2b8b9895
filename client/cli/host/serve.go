package host

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/server"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Flags of gantry serve.
const (
	flagTLSCert = "tls-cert"
	flagTLSKey  = "tls-key"

	flagTemplate = "template"
	flagNotify   = "notify"
)

func serverCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{serveCommand(s), mcpCommand(s)}
}

func serveCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "an HTTP API for programs on this machine",
		Description: "Searches, buys, shows and stops leases for programs on loopback. /openapi.json describes the API. It works with a session\n" +
			"key and never with your wallet: an attacker that takes the server over can reserve at most what is left of the key's cap.\n" +
			"Requests need a token, which is printed once, or written to --token-file. With --customer WALLET and without --session it\n" +
			"makes its own session key, which that wallet authorises on the server's page.",
		Flags: command.AsSession(append(fundingFlags(),
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8484", Usage: "`ADDRESS` and port; port 0 takes a free one"},
			&cli.StringSliceFlag{Name: "host", Usage: "`NAME` by which the server may be called besides localhost; repeat"},
			&cli.StringSliceFlag{Name: "allow-origin", Usage: "pages of this `ORIGIN`, such as https://app.example, may use the server, with a token; repeat"},
			&cli.BoolFlag{Name: "new-token", Usage: "make a token in place of the one that there is"},
			&cli.StringFlag{Name: "token-file", Usage: "write a token that is made to this `FILE` (mode 0600) and do not print it"},
			&cli.StringSliceFlag{Name: flagTemplate, Usage: "`FILE` of your own template, in addition to those that gantry comes with; repeat"},
			&cli.StringSliceFlag{Name: flagNotify, Usage: "send what needs a person to this `URL`: https://…, ntfy://HOST/TOPIC, smtp://USER:PASSWORD@HOST/?from=…&to=…, or file:PATH with such a URL; repeat", EnvVars: []string{"GANTRY_NOTIFY"}},
			&cli.BoolFlag{Name: "notify-test", Usage: "send a test notice to every URL of --notify, and end"},
			&cli.BoolFlag{Name: "public", Usage: "show the market, and nothing else, to everyone: no token, no account, no key; with --public-url also actions for wallets"},
			&cli.BoolFlag{Name: "follow-market", Usage: "follow all accounts of the market and answer searches from memory: about a GiB for 100,000 machines, and a read for each transaction of the market"},
			&cli.BoolFlag{Name: "no-page", Usage: "show no page in browsers, and print no link that signs one in"},
			&cli.StringFlag{Name: flagTLSCert, Usage: "speak TLS with the certificates of this `FILE` (PEM)"},
			&cli.StringFlag{Name: flagTLSKey, Usage: "key `FILE` of the certificate (PEM)"},
			&cli.StringFlag{Name: "backup", Usage: "keep encrypted snapshots of the volumes of all orders below `s3://BUCKET/FOLDER`, so that a lease that moves continues with its files, and keep volumes there (default for these: GANTRY_BUCKET, then the context). Machines get the bucket's credentials, as those of gantry deploy --backup do"},
			&cli.StringFlag{Name: "backup-endpoint", Usage: "`URL` of the S3 server, if it is not Amazon's", EnvVars: []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}},
			&cli.DurationFlag{Name: "backup-every", Value: 15 * time.Minute, Usage: "a snapshot soon after the start and every `TIME`, for which the job is frozen, and one at the job's end"},
			&cli.StringFlag{Name: "sponsor-key", Usage: "pay fees and rent of callers with the keypair of this `FILE`, at /sponsor, so that their wallets need no SOL"},
			&cli.StringFlag{Name: "sponsor-day", Value: "0.02", Usage: "the most `SOL` that a caller may cost the sponsor a day: a member of the team, or a wallet for which an owner asks"},
			&cli.StringFlag{Name: "sponsor-total", Value: "0.2", Usage: "the most `SOL` that all callers together may cost the sponsor a day"},
			&cli.StringFlag{Name: "metrics", Usage: "show figures for Prometheus on this loopback `ADDRESS`, such as 127.0.0.1:9466", EnvVars: []string{"GANTRY_SERVE_METRICS"}},
			&cli.StringFlag{Name: "web-config", Usage: "`FILE` with TLS and passwords for --metrics, in the format of Prometheus's exporters (web.config.file); an address that is not loopback needs one with both", EnvVars: []string{"GANTRY_SERVE_WEB_CONFIG"}},
			&cli.BoolFlag{Name: "insecure-listen", Usage: "listen on an address that is not loopback: tokens and answers are readable on the way"},
		)...),
		Action: action(s, (*session).serve),
	}
}

// serveJSON is what serve prints when it answers.
type serveJSON struct {
	URL       string `json:"url"`
	Customer  string `json:"customer"`
	Session   string `json:"session"`
	Token     string `json:"token,omitempty"`
	TokenFile string `json:"tokenFile,omitempty"`
	Metrics   string `json:"metrics,omitempty"`
	// Page signs one browser in, once and for a short time.
	Page string `json:"page,omitempty"`
	// Sponsor pays for callers.
	Sponsor *serve.Sponsor `json:"sponsor,omitempty"`
	// AtRisk is what somebody with a copy of the folder can spend: what is left of the caps of Keys session keys, and their SOL.
	Keys   int    `json:"keys"`
	AtRisk string `json:"atRisk"`
	SOL    string `json:"solAtRisk"`
}

func (s *session) serve() (err error) {
	if _, err := s.Args(); err != nil {
		return err
	}
	if s.CLI.Bool("notify-test") {
		to, err := server.TestNotify(s.Context, s.CLI.StringSlice(flagNotify))
		if err != nil {
			return err
		}
		return s.Done(map[string]string{"to": to}, func(w *terminal.Page) { fmt.Fprintln(w, "a test notice was sent to "+to) })
	}
	if _, err := s.Market(); err != nil {
		return err
	}
	s.Service.FollowMarket = s.CLI.Bool("follow-market")
	if s.CLI.Bool("public") {
		return s.servePublic()
	}
	customer, err := s.served()
	if err != nil {
		return err
	}
	account, err := s.account(customer)
	if err != nil {
		return err
	}
	defer account.Close()
	if account.Backups, err = server.NewBackups(s.CLI.String("backup"), s.CLI.String("backup-endpoint"), s.CLI.Duration("backup-every")); err != nil {
		return err
	}
	account.Bucket = s.Bucket.Or(s.CLI.String("backup"), s.CLI.String("backup-endpoint"))
	srv, err := server.Open(s.Context, account)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	o := &srv.HTTP
	o.Hosts, o.Latencies = s.CLI.StringSlice("host"), s.Machines()
	if o.Catalogue, err = catalogue.Builtin(); err != nil {
		return err
	}
	if o.Templates, err = template.WithFiles(s.CLI.StringSlice(flagTemplate)); err != nil {
		return service.Usage("--template: "+err.Error(), "how a template is written: docs/operate/templates.md")
	}
	if o.Origins, err = serve.ParseOrigins(s.CLI.StringSlice("allow-origin")); err != nil {
		return service.Usage("--allow-origin: "+err.Error(), "name each site as a browser does, such as https://app.example")
	}
	if err := srv.Notify(s.CLI.StringSlice(flagNotify)); err != nil {
		return err
	}
	shown, err := srv.Show(s.figures())
	if err != nil {
		return err
	}
	if err := s.funding(account.Folder(), o); err != nil {
		return err
	}
	if err := srv.AddSponsor(s.CLI.String("sponsor-key"), s.CLI.String("sponsor-day"), s.CLI.String("sponsor-total")); err != nil {
		return err
	}
	if !s.CLI.Bool("no-page") {
		if err := srv.AddPage(s.Context); err != nil {
			return err
		}
	}
	l, err := s.listen(s.CLI.Bool("insecure-listen"),
		"give it a certificate with --tls-cert and --tls-key, put a proxy with TLS on this machine before it, or pass --insecure-listen in a network that is trusted")
	if err != nil {
		return err
	}
	if err := s.announce(srv.Begin(), o, s.listening().URL(l), shown); err != nil {
		return errors.Join(err, l.Close())
	}
	return srv.Run(s.Context, l)
}

// account acts for a customer with the command's session key, which is not its wallet. Nobody is asked: a server has no terminal.
func (s *session) account(customer solana.PublicKey) (*server.Account, error) {
	key, err := s.KeyFile()
	switch {
	case err != nil:
		return nil, err
	case key.PublicKey() == customer:
		return nil, service.Refused("the key of --session is the customer's own wallet", "name another key with: gantry session add KEY --cap USDC")
	}
	root, err := s.StateRoot()
	if err != nil {
		return nil, err
	}
	return server.New(s.Context, server.Options{
		Client: s.Client, Service: s.Service, Key: key, Customer: customer, Root: root, Fees: s.Fees, Sponsor: s.Sponsor, Bucket: s.Bucket, Log: s.Log, OnEvent: s.Event, Waiting: s.WaitingFor,
	})
}

// announce prints where the server answers, with what opens it, and what it puts at risk.
func (s *session) announce(server *serve.Server, o *serve.Options, url, metrics string) error {
	out := serveJSON{URL: url, Metrics: metrics, Customer: o.Customer.String(), Session: o.Session.String()}
	states, err := server.BudgetStates(s.Context)
	if err != nil {
		return err
	}
	out.Keys, out.AtRisk, out.SOL = len(states.Budgets), states.AtRisk, states.SOL
	out.Sponsor = serve.SponsorAt(o.Sponsor, url)
	if err := s.token(o.Store, &out); err != nil {
		return err
	}
	if len(o.Page) > 0 {
		link, err := server.PageLink()
		if err != nil {
			return err
		}
		out.Page = out.URL + link
	}
	return s.Done(out, out.print)
}

// listening is where the flags say that the server answers.
func (s *session) listening() *server.Listening {
	return &server.Listening{Addr: s.CLI.String("listen"), Names: s.CLI.StringSlice("host"), Cert: s.CLI.String(flagTLSCert), Key: s.CLI.String(flagTLSKey)}
}

func (s *session) figures() server.Figures {
	return server.Figures{Addr: s.CLI.String("metrics"), WebConfig: s.CLI.String("web-config")}
}

// listen opens that port; plain and next are those of [server.Listening].
func (s *session) listen(plain bool, next string) (net.Listener, error) {
	o := s.listening()
	o.Plain, o.Next = plain, next
	return o.Listen()
}

// token makes a token where there is none, or where a new one is wanted.
func (s *session) token(store *serve.Store, out *serveJSON) error {
	has, err := store.HasToken()
	if err != nil || (has && !s.CLI.Bool("new-token")) {
		return err
	}
	token, err := store.NewToken()
	if err != nil {
		return err
	}
	if path := s.CLI.String("token-file"); path != "" {
		out.TokenFile = path
		return atomicfile.Write(path, []byte(token+"\n"))
	}
	out.Token = token
	return nil
}

func (j serveJSON) print(w *terminal.Page) {
	rows := [][2]string{
		{"serving", j.URL},
		{"customer", j.Customer},
		{"session key", j.Session},
		{"at risk", fmt.Sprintf("%s USDC, and %s SOL for fees: what a copy of the server's folder with its %s can spend", j.AtRisk, j.SOL, service.Plural(j.Keys, "session key"))},
	}
	if j.Sponsor != nil {
		rows = append(rows, [2]string{"sponsor", fmt.Sprintf("%s pays up to %s a day for each caller and %s a day in total: --sponsor %s", j.Sponsor.Key, j.Sponsor.Day, j.Sponsor.Total, j.Sponsor.URL)})
	}
	switch {
	case j.Token != "":
		rows = append(rows, [2]string{"token", j.Token + " (not shown again; --new-token makes another)"})
	case j.TokenFile != "":
		rows = append(rows, [2]string{"token", "in " + j.TokenFile})
	}
	if j.Page != "" {
		rows = append(rows, [2]string{"page", j.Page + " (signs one browser in, once, within 15 minutes)"})
	}
	w.Pairs(rows...)
}
