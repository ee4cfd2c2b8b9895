package daemon

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	balanceEvery = time.Minute
	balanceLow   = chain.SOL / 200
)

// watchNode ends the agent when its node is closed, and warns when the machine's key is short of SOL.
func (a *Agent) watchNode(ctx context.Context) error {
	status := market.NodeStatus(0)
	told := map[solana.PublicKey]int64{}
	tick := time.NewTicker(balanceEvery)
	defer tick.Stop()
	a.checkBalance(ctx)
	for {
		changed := a.view.Changed()
		node, ok := a.view.Node(a.node)
		if !ok {
			return ErrClosed
		}
		if status == market.NodeHibernated && node.State() != status {
			a.awake.Store(time.Now().UnixNano())
		}
		if node.State() != status {
			if status != 0 {
				a.log.Warn().Stringer("from", status).Stringer("to", node.State()).Msg("the node's status on chain has changed")
			}
			status = node.State()
		}
		a.noteDisputes(told)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			a.checkBalance(ctx)
		case <-changed:
		}
	}
}

// noteDisputes says once that a lease of this node is disputed. told has the disputes that were said, by lease.
func (a *Agent) noteDisputes(told map[solana.PublicKey]int64) {
	for _, d := range a.view.Disputes() {
		if d.Node == a.node && told[d.Lease] != d.OpenedAt {
			told[d.Lease] = d.OpenedAt
			a.log.Warn().Stringer("lease", d.Lease).Stringer("kind", market.DisputeKind(d.Kind)).Time("votes_close", time.Unix(d.ClosesAt, 0).UTC()).
				Msg("a customer disputes a lease of this node; read the complaint with gantry dispute read LEASE and bring your side with gantry dispute answer LEASE")
		}
	}
}

// checkBalance warns when the machine's key is short of SOL.
func (a *Agent) checkBalance(ctx context.Context) {
	b, err := a.client.Balance(ctx, a.key.PublicKey(), chain.Confirmed)
	if err == nil {
		a.balance.Store(&b)
	}
	if err == nil && b < balanceLow {
		a.log.Warn().Str("balance", b.String()).Str("node_key", a.key.PublicKey().String()).Msg("the machine's key runs out of SOL for fees; send it some")
	}
}
