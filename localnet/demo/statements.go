package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// statementsProtocol is how anyone on the network asks a keeper for the statements behind a report.
var statementsProtocol = p2p.Protocol{ID: messages.Statements, MaxResponse: messages.MaxMessage}

// printStatements asks the keepers for the signed check statements behind the false H100's fault, verifies each
// signature, and shows those about its last measurement.
//
// A keeper may have been killed a moment ago: it is asked until it is back.
func (d *demo) printStatements(ctx context.Context, step int, fault market.Fault) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// The node may ask too; here a customer does.
	node, err := p2p.New(p2p.Options{Key: d.net.Keys.Customers[1].Key, Client: true, UserAgent: "gantry-demo", Log: d.opts.Log})
	if err != nil {
		return err
	}
	defer node.Close() //nolint:errcheck // nothing is lost with it
	domain, err := d.net.Chain.Domain(ctx)
	if err != nil {
		return err
	}
	slow := map[solana.PublicKey]records.CheckStatement{}
	class, _ := d.view.Node(fault.Node)
	names := roles.Names{View: d.view}
	node.Know(names)
	for _, k := range d.view.Keepers() {
		if err := node.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}); err != nil {
			return err
		}
		answer, err := statementsOf(ctx, node, k.Wallet, fault.Period)
		if err != nil {
			return fmt.Errorf("statements of %s: %w", short(k.Wallet), err)
		}
		for _, m := range answer.Statements {
			s, err := records.DecodeStatement(m.Statement)
			if err != nil {
				return fmt.Errorf("a statement that %s serves: %w", short(k.Wallet), err)
			}
			if s.Node != fault.Node || s.Kind != records.CheckWork || !s.Passed {
				continue
			}
			signed := statement.Signed{Keeper: m.Keeper, Statement: s, Signature: m.Signature}.Verify(domain, names.Keys) == nil
			if d.expect.that(signed, "every statement against the false H100 is signed by its keeper for this cluster") {
				slow[solana.PublicKey(m.Keeper)] = s
				share := market.ShareBPS(s.Figures.First, s.Figures.Second, class.MinOperations, class.MinBandwidth)
				d.expect.that(share < market.FiguresBPS, "every keeper measured the false H100 to be less than its class", "%v", s.Figures)
			}
		}
	}
	lines := []string{fmt.Sprintf("        statements of %d keepers, each signed:", len(slow))}
	for i, k := range d.net.Keys.Keepers {
		s, ok := slow[k.Address()]
		if !ok {
			continue
		}
		lines = append(lines, fmt.Sprintf("          keeper %d  measured %d · 10⁹ operations/s and %d MB/s of memory  %s", i+1, s.Figures.First, s.Figures.Second,
			time.Unix(s.CheckedAt, 0).UTC().Format("15:04:05")))
	}
	d.expect.that(len(slow)*2 > keeperCount, "most of the keepers signed what they measured of the false H100", "%d of %d", len(slow), keeperCount)
	d.out.note(step, lines...)
	return nil
}

// statementsOf asks a keeper for its signed statements about a period until it answers or ctx ends.
func statementsOf(ctx context.Context, node *p2p.Node, keeper solana.PublicKey, period uint64) (messages.StatementsAnswer, error) {
	for {
		answer, err := p2p.Call[messages.StatementsRequest, messages.StatementsAnswer](ctx, node, keeper, statementsProtocol,
			messages.StatementsRequest{Version: messages.Version, Period: period})
		if err == nil {
			return answer, nil
		}
		if wait.For(ctx, 500*time.Millisecond) != nil {
			return answer, err
		}
	}
}
