package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

const flagBudget = "budget"

func mcpCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "tools for language models, over standard input and output",
		Description: "Speaks the Model Context Protocol on standard input and output until the client closes them. Its tools search offers and\n" +
			"show leases, their output, costs and history. With --budget they also buy, and stop and enter what they have bought. It\n" +
			"works with a session key, whose cap holds on chain whatever the model does, and never with your wallet.",
		Flags: asSession(
			&cli.StringFlag{Name: flagBudget, Usage: "the most `USDC` that purchases of this session key through this command may reserve in total, across restarts. Without it no tool spends"},
		),
		Action: action(s, (*session).mcp),
	}
}

func (s *session) mcp() (err error) {
	if _, err := s.args(); err != nil {
		return err
	}
	if s.cli.String(flagSession) == "" {
		return usage("gantry mcp works with a session key only, and --session is missing",
			"make one with: solana-keygen new -o session.json, and name it with: gantry session add session.json --cap USDC --fund SOL")
	}
	if _, err := s.market(); err != nil {
		return err
	}
	customer, err := s.customer()
	if err != nil {
		return err
	}
	f, err := s.folder()
	if err != nil {
		return err
	}
	key, err := s.wallet()
	if err != nil {
		return err
	}
	if key.PublicKey() == customer {
		return refused("the key of --session is the customer's own wallet", "name another key with: gantry session add KEY --cap USDC")
	}
	o := mcp.Options{Market: s.service, Outputs: &buyer{s: s}, Customer: customer, Session: key.PublicKey(), Version: s.cli.App.Version}
	if s.cli.IsSet(flagBudget) {
		end, err := s.spending(&o, f)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return mcp.New(o).Run(s.ctx, &sdk.IOTransport{Reader: io.NopCloser(s.in), Writer: unclosed{s.streams.rawOut}})
}

// spending lets the tools buy within the budget until end is called, which waits for purchases.
func (s *session) spending(o *mcp.Options, f *purchase.Folder) (end func() error, err error) {
	most, err := market.ParseUSDC(s.cli.String(flagBudget))
	if err != nil {
		return nil, usage("--budget: "+err.Error(), "give an amount of USDC, such as --budget 5")
	}
	if o.Budget, err = mcp.OpenBudget(filepath.Join(f.Dir(), "mcp.db"), o.Session, most); err != nil {
		return nil, err
	}
	s.joined = &buy.Network{}
	var endInspections func()
	s.inspections, endInspections = buy.NewInspections(s.ctx)
	o.Inspections = s.inspections
	closeAll := func() error {
		endInspections()
		s.joined.Close()
		return o.Budget.Close()
	}
	by, err := s.servedBuyer(mcpPurchases)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	b := &modelBuyer{*by}
	if err := s.inspections.Resume(s.ctx, b.b, b.ours); err != nil {
		return nil, errors.Join(err, closeAll())
	}
	within, err := mcp.WithinBudget(b, o.Budget, func(ctx context.Context, r service.QuoteRequest) (market.USDC, error) {
		q, err := s.service.Quote(ctx, o.Customer, o.Session, r)
		return q.Reserves(), err
	})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	o.Buyer = b
	var wait func()
	o.Purchases, wait = serve.NewPurchases(s.ctx, within)
	return func() error {
		wait()
		return closeAll()
	}, nil
}

// unclosed is standard output, which the process closes when it ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// modelBuyer acts for a language model.
type modelBuyer struct{ buyer }

// Nothing implements mcp.Buyer.
func (b *modelBuyer) Nothing(name string) (bool, error) {
	all, err := b.b.Folder().All() // the latest first
	for _, p := range all {
		if p.Name == b.prefix+name {
			return p.Stage == purchase.Over && !p.Bought, nil
		}
	}
	return err == nil, err // stored first: what is not stored was not sent
}

// Bought implements mcp.Buyer.
func (b *modelBuyer) Bought(order solana.PublicKey) (bool, error) {
	all, err := b.b.Folder().All()
	for _, p := range all {
		if p.Order == order {
			return len(p.Name) > len(b.prefix) && p.Name[:len(b.prefix)] == b.prefix, nil
		}
	}
	return false, err
}
