package crank

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Moves is a source of actions that cannot wait until everything else is looked at: the leases of nodes that are away by
// a quorum's votes move.
type Moves struct {
	Matcher *match.Matcher
	Self    solana.PublicKey
}

// Due lists the moves (unix seconds on the chain's clock at the earliest). A lease fails in the transaction that moves
// it, so that none ends which has nowhere to go.
func (m *Moves) Due(v *view.Accounts, now int64) ([]Action, error) {
	params, ok := v.Params()
	if !ok || len(v.Outages) == 0 {
		return nil, nil
	}
	d := due{v: v, matcher: m.Matcher, self: m.Self, now: now, params: &params}
	inOrder(v.Outages, func(node solana.PublicKey, o *market.Outage) {
		n := v.Nodes[node]
		if n == nil || !o.Seen(now) {
			return
		}
		inOrder(leasesOf(v, node), func(_ solana.PublicKey, l *market.Lease) { d.leave(n, o, l) })
	})
	sortActions(d.out)
	return d.out, d.err
}

func leasesOf(v *view.Accounts, node solana.PublicKey) map[solana.PublicKey]*market.Lease {
	out := make(map[solana.PublicKey]*market.Lease, len(v.LeasesOfNode[node]))
	for key := range v.LeasesOfNode[node] {
		out[key] = v.Leases[key]
	}
	return out
}

// leave has a running lease leave a node that is away.
func (d *due) leave(n *market.Node, o *market.Outage, l *market.Lease) {
	failed, ok := l.FailedBy(o, d.now)
	if !ok {
		return
	}
	to, ok := d.nextNode(&failed)
	if !ok {
		return
	}
	a := Action{
		Kind: LeaseOutage, Key: fmt.Sprintf("%s/%d/%s", l.Address, l.AwardedAt, to.Node.Address),
		Group: fmt.Sprintf("migrate/%s/%d", l.Address, l.AwardedAt), Since: o.SeenAt,
	}
	fail, err := ix.LeaseOutage(ix.LeaseOutageArgs{Keeper: d.self, Signer: d.signer(), Lease: *l, Model: n.Spec.Model})
	if err != nil {
		d.add(a, nil, err)
		return
	}
	a.Instructions = append(a.Instructions, fail)
	move, err := ix.LeaseMigrate(ix.LeaseMigrateArgs{Keeper: d.self, Signer: d.signer(), Failed: failed, Node: to.Node, MaxScore: to.Score})
	d.add(a, move, err)
}

// outages gives back the rent of votes that count no more.
func (d *due) outages() {
	inOrder(d.v.Outages, func(node solana.PublicKey, o *market.Outage) {
		if !o.Over(d.now) {
			return
		}
		instruction, err := ix.OutageClose(*o)
		since := o.OpenedAt + market.OutageVoteSecs
		if o.SeenAt != 0 {
			since = o.SeenAt + market.OutageMoveSecs
		}
		d.add(Action{Kind: OutageClose, Key: fmt.Sprintf("%s/%d", node, o.OpenedAt), Since: since}, instruction, err)
	})
}
