package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/feeflags"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

// session is one run of one command: its settings, and what it has opened so far.
type session struct {
	cli      *cli.Context
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	output   io.Writer // where the output of jobs goes
	streams  Streams
	terminal bool // somebody can be asked
	json     bool
	dryRun   bool
	log      zerolog.Logger
	config   chain.CLIConfig
	fees     txm.Fees

	client  *chain.Client
	service *service.Service
	key     solana.PrivateKey
	browser *browserwallet.Wallet // with --sign-with, once it is connected
	mk      *market.Market
	actsFor solana.PublicKey // whom a session key acts for, once it was looked up
	state   *purchase.Folder
	yes     bool // what moves money is agreed to without a question
	agreed  bool // somebody has agreed to what moves money
	closers []func()
	joined  *buy.Network // what a purchase and the ports that it forwards share; nil for others
	// forwards are the ports of a purchase; nil for none.
	forwards *forwards
	// simulated is what --dry-run has found and has not printed yet.
	simulated *buy.Simulated
}

// action makes a command's action of a function with a session.
func action(s Streams, f func(*session) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		ss, err := newSession(c, s)
		if err != nil {
			return err
		}
		defer ss.close()
		err = f(ss)
		if errors.Is(err, buy.ErrSimulated) {
			return ss.printSimulated()
		}
		return err
	}
}

func newSession(c *cli.Context, s Streams) (*session, error) {
	cfg, err := chain.LoadCLIConfig(c.String(flagConfig))
	if err != nil {
		return nil, err
	}
	if path := c.String(flagConfig); path != "" && !cfg.Found {
		return nil, usage(fmt.Sprintf("config file %s does not exist", path), "create one with `solana config set --url URL`, or leave --config out")
	}
	if level := c.String(flagCommitment); level != "" {
		if cfg.Commitment, err = chain.ParseCommitment(level); err != nil {
			return nil, err
		}
	}
	if path := c.String(flagKeypair); path != "" {
		cfg.KeypairPath = path
	}
	ss := &session{
		cli: c, ctx: c.Context, in: s.In, out: s.Out, err: s.Err, terminal: s.Terminal, json: c.Bool(flagJSON), dryRun: c.Bool(flagDryRun), yes: c.Bool(flagYes), config: cfg,
		log: zerolog.Nop(), output: s.rawOut, streams: s,
	}
	switch {
	case ss.json: // standard output is for the document
		ss.output = printable.Output(s.rawErr)
	case s.Screen && !c.Bool(flagRaw):
		ss.output = printable.Output(s.rawOut)
	}
	if c.Bool(flagVerbose) {
		ss.log = zerolog.New(zerolog.ConsoleWriter{Out: s.Err, NoColor: true, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	return ss, ss.connect()
}

// connect prepares the client; nothing is asked yet.
func (s *session) connect() error {
	urls := s.cli.StringSlice(flagURL)
	ws := s.cli.StringSlice(flagWS)
	if len(urls) == 0 {
		urls = []string{s.config.RPCURL}
		if len(ws) == 0 {
			ws = []string{s.config.WebsocketURL}
		}
	}
	endpoints, err := chain.PairEndpoints(urls, ws)
	if err != nil {
		return err
	}
	if s.fees, err = feeflags.Read(s.cli); err != nil {
		return err
	}
	c, err := chain.New(chain.Options{Endpoints: endpoints, Commitment: s.config.Commitment, Log: s.log})
	if err != nil {
		return err
	}
	s.client, s.service = c, service.New(c, s.log)
	s.closers = append(s.closers, c.Close)
	return nil
}

func (s *session) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// wallet signs what the command sends: the key of a file, or with --sign-with a wallet in the person's browser.
func (s *session) wallet() (txm.Signer, error) {
	if s.browser != nil {
		return s.browser, nil
	}
	if s.key == nil && s.signsInBrowser() {
		return s.openBrowser()
	}
	return s.keyFile()
}

// signsInBrowser reports whether a wallet in a browser is to sign: the file of a session key comes first.
func (s *session) signsInBrowser() bool {
	return s.cli.String(browserwallet.FlagName) != "" && s.cli.String(flagSession) == ""
}

// keyFile reads the keypair file once: of a session key, where one is named. Commands take it that sign more than
// transactions: receipts, or what peers say to each other.
func (s *session) keyFile() (solana.PrivateKey, error) {
	if s.key != nil {
		return s.key, nil
	}
	if s.signsInBrowser() {
		return nil, usage("--sign-with signs transactions alone, and this command signs more: receipts, or what machines are asked",
			"use a key file, or a session key: gantry session add, with --sign-with, then --session")
	}
	path := s.config.KeypairPath
	if session := s.cli.String(flagSession); session != "" {
		path = session
	}
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return nil, err
	}
	s.key = key
	return key, nil
}

// market loads the market once and checks that it is one that this client understands.
func (s *session) market() (market.Market, error) {
	if s.mk != nil {
		return *s.mk, nil
	}
	mk, err := s.service.Load(s.ctx)
	if err != nil {
		return mk, err
	}
	s.mk = &mk
	return mk, nil
}

// missing reports whether there is no account at an address.
func (s *session) missing(at solana.PublicKey) (bool, error) {
	_, err := s.client.Account(s.ctx, at, s.client.Commitment())
	if errors.Is(err, chain.ErrAccountNotFound) {
		return true, nil
	}
	return false, err
}

// open is what most commands begin with: the market, and the wallet.
func (s *session) open() (market.Market, txm.Signer, error) {
	key, err := s.wallet()
	if err != nil {
		return market.Market{}, nil, err
	}
	mk, err := s.market()
	return mk, key, err
}

// begin is open for a command with arguments; names are those of args.
func (s *session) begin(names ...string) ([]string, market.Market, txm.Signer, error) {
	args, err := s.args(names...)
	if err != nil {
		return nil, market.Market{}, nil, err
	}
	mk, key, err := s.open()
	return args, mk, key, err
}

// snapshotNow is a snapshot and the cluster's time, unix seconds.
func (s *session) snapshotNow(scope watch.Scope) (*view.View, int64, error) {
	v, err := s.snapshot(scope)
	if err != nil {
		return nil, 0, err
	}
	now, err := s.now()
	return v, now, err
}

// snapshot reads the accounts of a scope once.
func (s *session) snapshot(scope watch.Scope) (*view.View, error) {
	if _, err := s.market(); err != nil {
		return nil, err
	}
	return s.service.Snapshot(s.ctx, scope)
}

// live follows the accounts of a scope until the command ends.
func (s *session) live(scope watch.Scope) (*view.View, error) {
	if _, err := s.market(); err != nil {
		return nil, err
	}
	v, stop, err := s.service.Live(s.ctx, scope)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, stop)
	return v, nil
}

// dial joins the network as the customer, or takes the membership that the session shares.
func (s *session) dial(v *view.View) (*buy.Remote, error) {
	key, err := s.keyFile()
	if err != nil {
		return nil, err
	}
	r, err := buy.Dial(s.ctx, buy.Dialling{Client: s.client, Key: key, Shared: s.joined, Log: s.log}, v)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, r.Close)
	return r, nil
}

// dialAny joins the peer-to-peer network to ask keepers: with the wallet if there is one, else with a new key.
func (s *session) dialAny(v *view.View) (*p2p.Node, error) {
	key, err := s.wallet()
	if err != nil {
		if key, err = solana.NewRandomPrivateKey(); err != nil {
			return nil, fmt.Errorf("new key: %w", err)
		}
	}
	n, err := s.service.Join(s.ctx, key, v)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = n.Close() })
	return n, nil
}

// now is the chain's clock in unix seconds.
func (s *session) now() (int64, error) { return s.client.Now(s.ctx) }

// done prints a command's result: value as JSON, or for people.
func (s *session) done(value any, people func(w io.Writer)) error {
	return printResult(s.out, s.json, value, people)
}

// printResult prints value as one JSON document, or for people.
func printResult(w io.Writer, asJSON bool, value any, people func(w io.Writer)) error {
	if !asJSON {
		people(w)
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// say writes one line of progress. Texts in it may be others'.
func (s *session) say(format string, args ...any) {
	shown := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			shown[i] = printable.Text(a)
		case error:
			shown[i] = printable.Text(a.Error())
		default:
			shown[i] = a
		}
	}
	fmt.Fprintf(s.err, format+"\n", shown...)
}
