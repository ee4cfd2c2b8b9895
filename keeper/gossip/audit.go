package gossip

import (
	"context"
	"math/rand/v2"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// auditNodes is about how many nodes each of the other keepers is asked in a period where committees are drawn.
const auditNodes = 4

// auditPages bounds the answers that are taken from one keeper.
const auditPages = 4

// runAudit asks the other keepers, after every period, for their signed statements: reports count sets, for which a
// keeper signs once, but an appeal needs the single signatures, and equivocation is proven by them. Where everybody
// checks everything all are asked for, otherwise those about a few nodes.
func (g *Gossip) runAudit(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-g.sealed:
			if err := wait.For(ctx, g.o.AuditDelay); err != nil { // other keepers seal the period a moment later
				return err
			}
			g.audit(ctx, p)
		}
	}
}

// Sealed has a period audited; while another one is, this one is left out.
func (g *Gossip) Sealed(p records.Period) {
	select {
	case g.sealed <- p:
	default:
	}
}

func (g *Gossip) audit(ctx context.Context, p records.Period) {
	var keepers, nodes []solana.PublicKey
	g.o.View.Read(func(v *view.Accounts) {
		for wallet := range v.Weights(int64(p+1) * int64(g.o.PeriodSecs)) {
			if wallet != g.self() {
				keepers = append(keepers, wallet)
			}
		}
		for key := range v.Nodes { // in no order: so these are a few of them
			if len(nodes) == auditNodes {
				break
			}
			nodes = append(nodes, key)
		}
	})
	if g.everyoneChecks() {
		nodes = []solana.PublicKey{{}}
	}
	rand.Shuffle(len(keepers), func(i, j int) { keepers[i], keepers[j] = keepers[j], keepers[i] })
	for _, keeper := range keepers {
		for _, node := range nodes {
			g.ask(ctx, keeper, p, node)
		}
	}
}

// ask takes a keeper's signed statements into the pool, which finds equivocation.
func (g *Gossip) ask(ctx context.Context, keeper solana.PublicKey, p records.Period, node solana.PublicKey) {
	req := messages.StatementsRequest{Version: messages.Version, Period: uint64(p), Node: node}
	for range auditPages {
		got, err := p2p.Call[messages.StatementsRequest, messages.StatementsAnswer](ctx, g.o.Node, keeper, StatementsProtocol, req)
		if err != nil {
			g.o.Log.Debug().Err(err).Stringer("keeper", keeper).Uint64("period", uint64(p)).Msg("peer did not answer with its signed statements")
			return
		}
		for _, raw := range got.Statements {
			s, err := statement.Read(raw)
			if err != nil || s.Statement.Period != p || g.o.Pool.Has(s) || !g.counts(s) || s.Verify(g.o.Domain, g.o.Roles.Keys) != nil {
				continue
			}
			if _, err := g.o.Pool.Add(s); err != nil {
				g.o.Log.Warn().Err(err).Msg("keeper received a statement that it does not count")
			}
		}
		if req.Skip += uint32(len(got.Statements)); !got.More || len(got.Statements) == 0 {
			return
		}
	}
}
