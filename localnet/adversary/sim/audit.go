package sim

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// auditNodes is how many nodes each of the other keepers is asked about after a period, where committees are drawn.
const auditNodes = 4

// audit asks the other keepers for their signed statements of a period that is over: see keeper/gossip/audit.go.
func (k *keeper) audit(p records.Period) {
	g := k.group
	g.Go(func() {
		if g.Sleep(g.Context(), k.sim.o.times().delay) != nil {
			return
		}
		nodes := []solana.PublicKey{{}}
		if !k.small() {
			nodes = nil
			for _, i := range k.rng.some(auditNodes, len(k.sim.machines)) {
				nodes = append(nodes, k.sim.machines[i].account)
			}
		}
		for _, i := range k.rng.Perm(len(k.sim.keepers)) {
			for _, node := range nodes {
				if o := k.sim.keepers[i]; o != k && !k.auditOne(g.Context(), o, p, node) {
					break
				}
			}
		}
	})
}

// auditOne takes a keeper's signed statements about a node, or about all, into the pool, and reports whether it
// answered.
func (k *keeper) auditOne(ctx context.Context, of *keeper, p records.Period, node solana.PublicKey) bool {
	ctx, cancel := k.group.Timeout(ctx, k.sim.o.times().timeout)
	defer cancel()
	var got []statement.Signed
	req := messages.StatementsRequest{Version: messages.Version, Period: uint64(p), Node: node}
	err := k.call(ctx, of.wallet(), size(req), func(o *keeper) (int, func()) {
		answer := o.signedOf(p, node, k.place)
		return 10 + len(answer)*k.sim.sizes.statement, func() { got = answer }
	})
	if err != nil {
		return false
	}
	for _, s := range got {
		if s.Statement.Period == p && !k.pool.Has(s) && k.sim.genuine(s) {
			k.add(s)
		}
	}
	return true
}

// signedOf is what a keeper answers: its own statements, then those of others. One that contradicts itself shows its
// second face to some.
func (k *keeper) signedOf(p records.Period, node solana.PublicKey, asker place) []statement.Signed {
	if sealed, err := k.store.Sealed(); err != nil || p >= sealed {
		return nil
	}
	have, err := k.store.Statements(p)
	k.must(err)
	var out []statement.Signed
	for _, s := range have {
		if node.IsZero() || s.Statement.Node == node {
			out = append(out, statement.Signed{Keeper: k.wallet(), Statement: s.Statement, Signature: s.Signature})
		}
	}
	for _, s := range k.pool.Period(p) {
		second := k.equivocator && asker%2 == 1 && s.Keeper == k.wallet() && k.sim.opposites[s.Signature]
		if (s.Keeper != k.wallet() || second) && (node.IsZero() || s.Statement.Node == node) {
			out = append(out, s)
		}
	}
	return out
}
