package main

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/gateway/certs"
	"github.com/gantry-market/gantry/gateway/daemon"
	"github.com/gantry-market/gantry/internal/command"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

var errFlags = errors.New("wrong flags")

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run the gateway until interrupted", Flags: append(flags(), limitFlags()...),
		Action: func(c *cli.Context) (err error) {
			conf, err := config(c)
			if err != nil {
				return err
			}
			defer conf.Client.Close()
			g, err := daemon.Open(c.Context, conf)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, g.Close()) }()
			return g.Run(c.Context)
		},
	}
}

func flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "domain", Required: true, Usage: "`DOMAIN` below which leases have names; *.DOMAIN must lead to this machine", EnvVars: []string{"GANTRY_GATEWAY_DOMAIN"}},
		&cli.StringFlag{Name: "cert", Usage: "PEM `FILE` with a certificate for *.DOMAIN, read again when it changes", EnvVars: []string{"GANTRY_GATEWAY_CERT"}},
		&cli.StringFlag{Name: "cert-key", Usage: "PEM `FILE` with its key", EnvVars: []string{"GANTRY_GATEWAY_CERT_KEY"}},
		&cli.StringFlag{Name: "acme", Usage: "`URL` of an ACME server's directory, letsencrypt or letsencrypt-staging: it issues a certificate for each name instead of --cert; giving it agrees to the issuer's terms", EnvVars: []string{"GANTRY_GATEWAY_ACME"}},
		&cli.StringFlag{Name: "acme-email", Usage: "`ADDRESS` that the issuer may write to"},
		&cli.StringFlag{Name: "acme-ca", Usage: "PEM `FILE` with the CA of the ACME server's own certificate (default: the system's)"},
		&cli.StringFlag{Name: "acme-dns", Usage: "`ADDRESS` of the zone's primary DNS server, which takes updates (RFC 2136): one certificate for *.DOMAIN by DNS-01 instead of one for each name", EnvVars: []string{"GANTRY_GATEWAY_ACME_DNS"}},
		&cli.StringFlag{Name: "acme-dns-key", Usage: "`FILE` with the key that signs updates, as tsig-keygen writes it", EnvVars: []string{"GANTRY_GATEWAY_ACME_DNS_KEY"}},
		&cli.StringSliceFlag{Name: "acme-dns-resolver", Usage: "`ADDRESS` of a DNS server that knows the zone; repeat for more (default: the system's, and then the zone's own servers)"},
		&cli.IntFlag{Name: "acme-per-week", Value: 45, Usage: "new names in seven days for which a certificate is asked"},
		&cli.IntFlag{Name: "acme-per-customer", Value: 10, Usage: "of them for one customer"},
		&cli.StringFlag{Name: "tls", Value: ":443", Usage: "`ADDRESS` to listen on for TLS"},
		&cli.StringFlag{Name: "ssh", Value: ":2222", Usage: "`ADDRESS` to listen on for SSH; \"off\" for none"},
		&cli.IntFlag{Name: "public-tls-port", Usage: "`PORT` at which others reach --tls, where it is another"},
		&cli.IntFlag{Name: "public-ssh-port", Usage: "`PORT` at which others reach --ssh, where it is another"},
		&cli.StringFlag{Name: "keypair", Aliases: []string{"k"}, Usage: "keypair `FILE` of the gateway, which needs credits in the market (default: as solana config says)", EnvVars: []string{"GANTRY_KEYPAIR"}},
		&cli.StringSliceFlag{Name: "url", Aliases: []string{"u"}, Usage: "RPC `URL` or moniker; repeat for failover (default: as solana config says)", EnvVars: []string{"GANTRY_RPC_URL"}},
		&cli.StringSliceFlag{Name: "ws", Usage: "WebSocket `URL` of each --url (default: derived)", EnvVars: []string{"GANTRY_WS_URL"}},
		&cli.StringFlag{Name: "data-dir", Aliases: []string{"data"}, Value: "~/.local/state/gantry-gateway", Usage: "`FOLDER` of the grants", EnvVars: []string{"GANTRY_GATEWAY_DATA"}},
		&cli.StringFlag{Name: "listen", Usage: "multiaddress to listen on for customers (default: /ip4/127.0.0.1/tcp/0 for a cluster on this machine, else /ip4/0.0.0.0/tcp/4102)"},
		&cli.StringFlag{Name: "announce", Usage: "multiaddress at which others reach it (default: the one listened on)"},
		&cli.StringSliceFlag{Name: "customer", Usage: "`WALLET` that is served; repeat for more (default: every customer)"},
		&cli.StringFlag{Name: "price", Usage: "`USDC` that customers pay for a GiB, both ways together (default: nothing)", EnvVars: []string{"GANTRY_GATEWAY_PRICE"}},
		&cli.Uint64Flag{Name: "free", Usage: "`MIB` that each lease has relayed for nothing; with --price"},
		&cli.StringFlag{Name: "payee", Usage: "`WALLET` that customers pay (default: that of --keypair)"},
		&cli.StringFlag{Name: "metrics", Value: "127.0.0.1:0", Usage: "`ADDRESS` of /metrics, /healthz and /readyz; port 0 takes any and is written to http.addr in the data folder; \"off\" for none"},
		&cli.StringFlag{Name: "web-config", Usage: "`FILE` with TLS and passwords for --metrics, in the format of Prometheus's exporters (web.config.file); an address that is not loopback needs one with both", EnvVars: []string{"GANTRY_GATEWAY_WEB_CONFIG"}},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "trace, debug, info, warn or error", EnvVars: []string{"GANTRY_LOG"}},
		&cli.BoolFlag{Name: "log-json", Usage: "logs as JSON lines"},
	}
}

func limitFlags() []cli.Flag {
	d := daemon.DefaultLimits()
	return []cli.Flag{
		&cli.IntFlag{Name: "max-connections", Value: d.Connections, Usage: "connections at once, of TLS and of SSH each"},
		&cli.IntFlag{Name: "max-per-address", Value: d.PerAddress, Usage: "of them from one IPv4 address or IPv6 /56"},
		&cli.IntFlag{Name: "max-per-lease", Value: d.PerLease, Usage: "connections and requests of one lease at once"},
		&cli.Float64Flag{Name: "new-per-second", Value: d.NewPerSecond, Usage: "connections that one address may begin in a second"},
		&cli.IntFlag{Name: "rate", Value: d.Rate >> 10, Usage: "`KIB` a second that one lease may have relayed, both ways together"},
		&cli.IntFlag{Name: "memory", Value: d.Memory >> 20, Usage: "`MIB` that may wait for clients that do not read"},
		&cli.IntFlag{Name: "max-leases", Value: d.Leases, Usage: "leases that are served"},
		&cli.IntFlag{Name: "max-per-customer", Value: d.PerCustomer, Usage: "of them of one customer"},
		&cli.DurationFlag{Name: "idle", Value: d.Idle, Usage: "how long a connection may carry nothing"},
		&cli.DurationFlag{Name: "idle-ssh", Value: d.IdleSSH, Usage: "how long a connection of SSH may carry nothing"},
	}
}

// config reads the flags. The caller closes the client.
func config(c *cli.Context) (out daemon.Config, err error) {
	if out.Log, err = logger(c); err != nil {
		return out, err
	}
	settings, err := chain.LoadCLIConfig("")
	if err != nil && (!c.IsSet("url") || !c.IsSet("keypair")) {
		return out, err
	}
	urls, ws := c.StringSlice("url"), c.StringSlice("ws")
	if len(urls) == 0 {
		urls = []string{settings.RPCURL}
		if len(ws) == 0 {
			ws = []string{settings.WebsocketURL}
		}
	}
	endpoints, err := chain.PairEndpoints(urls, ws)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errFlags, err)
	}
	keypair := c.String("keypair")
	if keypair == "" {
		keypair = settings.KeypairPath
	}
	if out.Key, err = chain.LoadKeypair(keypair); err != nil {
		return out, err
	}
	if out.Data, err = chain.ExpandHome(c.String("data")); err != nil {
		return out, err
	}
	for _, text := range c.StringSlice("customer") {
		wallet, err := solana.PublicKeyFromBase58(text)
		if err != nil {
			return out, fmt.Errorf("%w: --customer %s is not a wallet", errFlags, text)
		}
		out.Customers = append(out.Customers, wallet)
	}
	if out.Price, err = price(c); err != nil {
		return out, err
	}
	out.Domain, out.Certificate, out.CertificateKey = c.String("domain"), c.String("cert"), c.String("cert-key")
	out.ACME = daemon.ACME{
		Directory: c.String("acme"), CA: c.String("acme-ca"), Email: c.String("acme-email"), PerWeek: c.Int("acme-per-week"), PerCustomer: c.Int("acme-per-customer"),
		DNS: c.String("acme-dns"), DNSKey: c.String("acme-dns-key"), DNSResolvers: c.StringSlice("acme-dns-resolver"),
	}
	switch out.ACME.Directory {
	case "letsencrypt":
		out.ACME.Directory = certs.LetsEncrypt
	case "letsencrypt-staging":
		out.ACME.Directory = certs.LetsEncryptStaging
	}
	out.TLS, out.SSH, out.Figures = c.String("tls"), off(c.String("ssh")), off(c.String("metrics"))
	out.WebConfig = c.String("web-config")
	if out.Service, err = service.FromEnv(); err != nil {
		return out, err
	}
	out.PublicTLS, out.PublicSSH = c.Int("public-tls-port"), c.Int("public-ssh-port")
	out.Listen, out.Announce = c.String("listen"), c.String("announce")
	out.Limits = daemon.Limits{
		Connections: c.Int("max-connections"), PerAddress: c.Int("max-per-address"), PerLease: c.Int("max-per-lease"), NewPerSecond: c.Float64("new-per-second"),
		Rate: c.Int("rate") << 10, Memory: c.Int("memory") << 20, Leases: c.Int("max-leases"), PerCustomer: c.Int("max-per-customer"),
		Idle: c.Duration("idle"), IdleSSH: c.Duration("idle-ssh"),
	}
	if out.Client, err = chain.New(chain.Options{Endpoints: endpoints, Commitment: chain.Confirmed, Log: out.Log}); err != nil {
		return out, err
	}
	if out.Listen == "" {
		out.Listen = "/ip4/0.0.0.0/tcp/4102"
		if out.Client.Local() {
			out.Listen = "/ip4/127.0.0.1/tcp/0"
		}
	}
	return out, nil
}

// price reads what is asked for relaying.
func price(c *cli.Context) (p daemon.Price, err error) {
	if text := c.String("price"); text != "" {
		if p.PerGiB, err = market.ParseUSDC(text); err != nil {
			return p, fmt.Errorf("%w: --price: %w", errFlags, err)
		}
	}
	if p.Free = c.Uint64("free") << 20; p.Free>>20 != c.Uint64("free") {
		return p, fmt.Errorf("%w: --free %d MiB is too much", errFlags, c.Uint64("free"))
	}
	if text := c.String("payee"); text != "" {
		if p.Payee, err = solana.PublicKeyFromBase58(text); err != nil {
			return p, fmt.Errorf("%w: --payee %s is not a wallet", errFlags, text)
		}
	}
	return p, nil
}

func off(text string) string {
	if text == "off" {
		return ""
	}
	return text
}

// logger writes to standard error.
func logger(c *cli.Context) (zerolog.Logger, error) {
	log, err := command.Log(c.String("log-level"), c.Bool("log-json"))
	if err != nil {
		err = fmt.Errorf("%w: %w", errFlags, err)
	}
	return log, err
}
