package crank

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// migrate moves a failed lease to the best node that may take it, for at most the price that it has. ok is false when
// it cannot move, now or at all: then it is ended in its time.
func (d *due) migrate(id string, l *market.Lease) (ok bool) {
	if !l.CanMigrate() || l.CanEndByAnyone(d.node(l.Node), d.now) == nil {
		return false
	}
	to, ok := d.nextNode(l)
	if !ok {
		return false
	}
	instruction, err := ix.LeaseMigrate(ix.LeaseMigrateArgs{Keeper: d.self, Signer: d.signer(), Failed: *l, Node: to.Node, MaxScore: to.Score})
	d.add(Action{
		Kind: LeaseMigrate, Key: fmt.Sprintf("%s/%s", id, to.Node.Address), Group: "migrate/" + id, Since: l.EndedAt,
	}, instruction, err)
	return true
}

// nextNode finds where a failed lease goes, if this keeper may move it.
func (d *due) nextNode(l *market.Lease) (to market.Candidate, ok bool) {
	o, known := d.v.Orders[l.Order]
	me, active := d.v.Keepers[d.self]
	if !known || !active || me.State() != market.KeeperActive || d.v.Market.Paused&market.PauseAwards != 0 {
		return market.Candidate{}, false
	}
	q := match.Query{
		Order: l.Order, Requirement: o.Requirement, Interruptible: o.Interruptible != 0, GPUs: o.GpusPerNode, MaxPrice: l.Price, Nodes: 1, Site: &o.Site, AskedAt: d.now,
		End: d.now + Margin + int64(o.StartSecs) + int64(l.UndeliveredSecs()), UnservedBy: o.Unserved(),
	}
	for other := range d.v.LeasesOfOrder[l.Order] {
		q.Except = append(q.Except, d.v.Leases[other].Node) // the address of an order's lease on a node is taken
	}
	slices.SortFunc(q.Except, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	best := d.matcher.Best(q, d.now+Margin)
	if len(best) == 0 {
		return market.Candidate{}, false
	}
	return best[0], true
}
