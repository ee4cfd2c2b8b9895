package command

import (
	"context"
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
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/feeflags"
	"github.com/gantry-market/gantry/sdk/listflags"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/sponsor"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Session is one run of one command: its settings, and what it has opened so far.
type Session struct {
	CLI      *cli.Context
	Context  context.Context
	In       io.Reader
	Err      io.Writer
	Output   io.Writer // where the output of jobs goes
	Streams  Streams
	Terminal bool // somebody can be asked
	Format   terminal.Format
	DryRun   bool
	Log      zerolog.Logger
	Config   chain.CLIConfig
	Server   string // a running gantry serve
	Gateway  string // of the environment or a context; empty for none
	Bucket   buy.Bucket
	Sponsor  *sponsor.Client // pays fees and rent; nil for the wallet itself
	Fees     txm.Fees
	Client   *chain.Client
	Service  *service.Service
	// Network is shared by a purchase and the ports that it forwards. Nil where each connection joins for itself.
	Network *buy.Network

	key     solana.PrivateKey
	browser *browserwallet.Wallet // with --sign-with, once it is connected
	mk      *market.Market
	actsFor solana.PublicKey // whom a session key acts for, once it was looked up
	state   *purchase.Folder
	yes     bool // what moves money is agreed to without a question
	agreed  bool // somebody has agreed to what moves money
	closers []func()
	// steps shows a purchase in place; nil where steps are plain lines.
	steps *terminal.Steps
	pace  *terminal.Pace
	// simulated is what --dry-run has found and has not printed yet.
	simulated *buy.Simulated
}

// Action makes a command's action of a function with a session.
func Action(s Streams, f func(*Session) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		ss, err := newSession(c, s)
		if err != nil {
			return err
		}
		defer ss.Close()
		err = f(ss)
		if errors.Is(err, buy.ErrSimulated) {
			return ss.printSimulated()
		}
		return err
	}
}

func newSession(c *cli.Context, s Streams) (*Session, error) {
	set, err := Settings(c)
	if err != nil {
		return nil, err
	}
	format, err := formatOf(c)
	if err != nil {
		return nil, err
	}
	cfg := set.Solana
	if path := c.String(FlagConfig); path != "" && !cfg.Found {
		return nil, service.Usage(fmt.Sprintf("config file %s does not exist", path), "create one with `solana config set --url URL`, or leave --config out")
	}
	ss := &Session{
		CLI: c, Context: c.Context, In: s.In, Err: s.Err, Terminal: s.Terminal, Format: format, DryRun: c.Bool(FlagDryRun), yes: c.Bool(FlagYes), Config: cfg,
		Server: set.Server.Text(), Gateway: set.Gateway.Text(), Bucket: buy.Bucket{Folder: set.Bucket.Text(), Endpoint: set.Endpoint.Text(), Price: set.Price.Text()},
		Log: zerolog.Nop(), Output: s.RawOut, Streams: s, pace: &terminal.Pace{},
	}
	switch {
	case ss.Format.Document(): // standard output is for the document
		ss.Output = printable.Output(s.RawErr)
	case s.Screen && !c.Bool(FlagRaw):
		ss.Output = printable.Output(s.RawOut)
	}
	if c.Bool(FlagVerbose) {
		ss.Log = zerolog.New(zerolog.ConsoleWriter{Out: s.Err, NoColor: true, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	if ss.Sponsor, err = sponsor.New(set.Sponsor.Text(), set.SponsorToken); err != nil {
		return nil, err
	}
	return ss, ss.connect(set.RPC.Values, set.WS.Values)
}

// connect prepares the client; nothing is asked yet.
func (s *Session) connect(urls, ws []string) error {
	endpoints, err := chain.PairEndpoints(urls, ws)
	if err != nil {
		return err
	}
	if s.Fees, err = feeflags.Read(s.CLI); err != nil {
		return err
	}
	lists, err := listflags.Read(s.CLI)
	if err != nil {
		return err
	}
	c, err := chain.New(chain.Options{Endpoints: endpoints, Commitment: s.Config.Commitment, Lists: lists, Log: s.Log})
	if err != nil {
		return err
	}
	s.Client, s.Service = c, service.New(c, s.Log)
	s.OnClose(c.Close)
	return nil
}

// Part is a session of its own for a part of the command: it shares client and key, and prints nothing but progress. The
// caller closes it.
func (s *Session) Part(ctx context.Context) *Session {
	f := *s
	f.Context, f.closers, f.mk, f.agreed = ctx, nil, nil, false
	f.Output = io.Discard
	f.Streams.Out, f.Streams.OnOut = io.Discard, screen.Terminal{}
	return &f
}

// OnClose has f run when the command ends; what was opened last is closed first.
func (s *Session) OnClose(f func()) { s.closers = append(s.closers, f) }

// Close ends what the session has opened.
func (s *Session) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// Wallet signs what the command sends: the key of a file, or with --sign-with a wallet in the person's browser.
func (s *Session) Wallet() (txm.Signer, error) {
	if s.browser != nil {
		return s.browser, nil
	}
	if s.key == nil && s.signsInBrowser() {
		return s.openBrowser()
	}
	return s.KeyFile()
}

// InBrowser reports whether a wallet in a browser is connected. It signs transactions alone.
func (s *Session) InBrowser() bool { return s.browser != nil }

// signsInBrowser reports whether a wallet in a browser is to sign: the file of a session key comes first.
func (s *Session) signsInBrowser() bool {
	return s.CLI.String(browserwallet.FlagName) != "" && s.CLI.String(FlagSession) == ""
}

// KeyFile reads the keypair file once: of a session key, where one is named. Commands take it that sign more than
// transactions: receipts, or what peers say to each other.
func (s *Session) KeyFile() (solana.PrivateKey, error) {
	if s.key != nil {
		return s.key, nil
	}
	if s.signsInBrowser() {
		return nil, service.Usage("--sign-with signs transactions alone, and this command signs more: receipts, or what machines are asked",
			"use a key file, or a session key: gantry session add, with --sign-with, then --session")
	}
	path := s.Config.KeypairPath
	if session := s.CLI.String(FlagSession); session != "" {
		path = session
	}
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return nil, err
	}
	s.key = key
	return key, nil
}

// Market loads the market once and checks that it is one that this client understands.
func (s *Session) Market() (market.Market, error) {
	if s.mk != nil {
		return *s.mk, nil
	}
	mk, err := s.Service.Load(s.Context)
	if err != nil {
		return mk, err
	}
	s.mk = &mk
	return mk, nil
}

// Open is what most commands begin with: the market, and the wallet.
func (s *Session) Open() (market.Market, txm.Signer, error) {
	key, err := s.Wallet()
	if err != nil {
		return market.Market{}, nil, err
	}
	mk, err := s.Market()
	return mk, key, err
}

// Begin is Open for a command with arguments; names are those of Args.
func (s *Session) Begin(names ...string) ([]string, market.Market, txm.Signer, error) {
	args, err := s.Args(names...)
	if err != nil {
		return nil, market.Market{}, nil, err
	}
	mk, key, err := s.Open()
	return args, mk, key, err
}

// SnapshotNow is a snapshot and the cluster's time, unix seconds.
func (s *Session) SnapshotNow(scope watch.Scope) (*view.View, int64, error) {
	v, err := s.Snapshot(scope)
	if err != nil {
		return nil, 0, err
	}
	now, err := s.Now()
	return v, now, err
}

// Snapshot reads the accounts of a scope once.
func (s *Session) Snapshot(scope watch.Scope) (*view.View, error) {
	if _, err := s.Market(); err != nil {
		return nil, err
	}
	return s.Service.Snapshot(s.Context, scope)
}

// Live follows the accounts of a scope until the command ends.
func (s *Session) Live(scope watch.Scope) (*view.View, error) {
	if _, err := s.Market(); err != nil {
		return nil, err
	}
	v, stop, err := s.Service.Live(s.Context, scope)
	if err != nil {
		return nil, err
	}
	s.OnClose(stop)
	return v, nil
}

// Dial joins the network as the customer, or takes the membership that the session shares.
func (s *Session) Dial(v *view.View) (*buy.Remote, error) {
	key, err := s.KeyFile()
	if err != nil {
		return nil, err
	}
	r, err := buy.Dial(s.Context, buy.Dialling{Client: s.Client, Key: key, Shared: s.Network, Log: s.Log}, v)
	if err != nil {
		return nil, err
	}
	s.OnClose(r.Close)
	return r, nil
}

// Machines asks machines of the market, with a membership that is made when it is first needed.
func (s *Session) Machines() *buy.Latencies {
	return &buy.Latencies{Service: s.Service, Client: s.Client, Dial: s.Dial}
}

// DialAny joins the peer-to-peer network to ask keepers: with the wallet if there is one, else with a new key.
func (s *Session) DialAny(v *view.View) (*p2p.Node, error) {
	key, err := s.Wallet()
	if err != nil {
		if key, err = solana.NewRandomPrivateKey(); err != nil {
			return nil, fmt.Errorf("new key: %w", err)
		}
	}
	n, err := service.Join(s.Context, s.Client, p2p.Options{Key: key, Client: true, Log: s.Log})
	if err != nil {
		return nil, err
	}
	service.Introduce(n, v, s.Log)
	s.OnClose(func() { _ = n.Close() })
	return n, nil
}

// Now is the chain's clock in unix seconds.
func (s *Session) Now() (int64, error) { return s.Client.Now(s.Context) }

// Say writes one line of progress. Texts in it may be others'.
func (s *Session) Say(format string, args ...any) {
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
	fmt.Fprintf(s.Err, format+"\n", shown...)
}
