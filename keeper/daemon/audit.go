package daemon

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/statement"
)

// auditNodes is about how many nodes each of the other keepers is asked in a period where committees are drawn.
const auditNodes = 4

// auditPages bounds the answers that are taken from one keeper.
const auditPages = 4

// runAudit asks the other keepers, after every period, for their signed statements: reports count sets, for which a
// keeper signs once, but an accused needs the single signatures, and contradictions are proven by them. Where everybody
// checks everything all are asked for, otherwise those about a few nodes.
func (n *network) runAudit(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-n.sealed:
			select { // the others are done a moment later
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(n.k.timing.ReportDelay):
			}
			n.audit(ctx, p)
		}
	}
}

// over has a period audited; when the last one still is, this one is passed over.
func (n *network) over(p records.Period) {
	select {
	case n.sealed <- p:
	default:
	}
}

func (n *network) audit(ctx context.Context, p records.Period) {
	var keepers, nodes []solana.PublicKey
	n.k.view.Read(func(v *view.Accounts) {
		for wallet := range v.Weights(int64(p+1) * int64(n.k.secs)) {
			if wallet != n.k.publicKey() {
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
	if n.small() {
		nodes = []solana.PublicKey{{}}
	}
	rand.Shuffle(len(keepers), func(i, j int) { keepers[i], keepers[j] = keepers[j], keepers[i] })
	for _, keeper := range keepers {
		for _, node := range nodes {
			n.ask(ctx, keeper, p, node)
		}
	}
}

// ask takes a keeper's signed statements into the pool, which finds contradictions.
func (n *network) ask(ctx context.Context, keeper solana.PublicKey, p records.Period, node solana.PublicKey) {
	req := messages.StatementsRequest{Version: messages.Version, Period: uint64(p), Node: node}
	for range auditPages {
		got, err := p2p.Call[messages.StatementsRequest, messages.StatementsAnswer](ctx, n.node, keeper, statementsProtocol, req)
		if err != nil {
			n.k.log.Debug().Err(err).Stringer("keeper", keeper).Uint64("period", uint64(p)).Msg("signed statements")
			return
		}
		for _, raw := range got.Statements {
			s, err := statement.Read(raw)
			if err != nil || s.Statement.Period != p || n.k.pool.Has(s) || !n.isKeeper(s.Keeper) || s.Verify(n.k.domain) != nil {
				continue
			}
			if _, err := n.k.pool.Add(s); err != nil {
				n.k.log.Warn().Err(err).Msg("statement")
			}
		}
		if req.Skip += uint32(len(got.Statements)); !got.More || len(got.Statements) == 0 {
			return
		}
	}
}
