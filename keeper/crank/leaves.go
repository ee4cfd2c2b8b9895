package crank

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/report"
)

// leaves applies the leaves of final reports, oldest period first. A node's or a lease's periods only ever increase on
// chain, so a later leaf would shut out an earlier one: leaves wait while an older report has votes and may still
// become final.
func (d *due) leaves(sets Sets) {
	// Of a node or lease, only the oldest leaf is due; the next one after it was applied.
	taken := map[solana.PublicKey]bool{}
	for _, period := range periods(d.v) {
		r := d.v.Reports[period]
		if r.State() != market.ReportFinal {
			if d.mayBecomeFinal(period) {
				return
			}
			continue
		}
		if sets == nil {
			return
		}
		set := sets(wire.Period(period), r.Root)
		if set == nil {
			// Somebody else may hold it; later leaves would shut these out.
			if d.mayBecomeFinal(period) {
				return
			}
			continue
		}
		d.leavesOf(set, taken)
	}
}

// mayBecomeFinal reports whether waiting for a period is still worth while: for half of its retention.
func (d *due) mayBecomeFinal(period uint64) bool {
	end, err := market.PeriodEnd(period, d.params.PeriodSecs)
	return err == nil && d.now < end+int64(d.params.ReportRetentionSecs)/2
}

// leavesOf goes through one set. Leaves of leases come first: the first leaf of a node brings the node's own news, and
// with a lease a customer's harm is known. The node's leaf without a lease stands in where no lease's can be applied.
func (d *due) leavesOf(set *report.Set, taken map[solana.PublicKey]bool) {
	withLease := map[solana.PublicKey]bool{}
	for pass := range 2 {
		for i, leaf := range set.Leaves {
			if leaf.Lease.IsZero() != (pass == 1) || taken[leaf.Node] {
				continue
			}
			n, ok := d.v.Nodes[leaf.Node]
			if !ok {
				continue
			}
			var l *market.Lease
			if !leaf.Lease.IsZero() {
				l = d.v.Leases[leaf.Lease]
				if l == nil || l.Node != leaf.Node || l.StartedAt == 0 || taken[leaf.Lease] {
					continue
				}
			} else if withLease[leaf.Node] {
				continue
			}
			nodeNew, leaseNew, flags := market.LeafNews(&leaf, n, l, d.params)
			if !nodeNew && !leaseNew {
				continue
			}
			withLease[leaf.Node] = true
			d.leaf(set, uint32(i), leaf, n, flags)
			if l != nil {
				taken[leaf.Lease] = true
			}
		}
	}
	for node := range withLease {
		taken[node] = true
	}
}

func (d *due) leaf(set *report.Set, i uint32, leaf wire.Leaf, n *market.Node, flags wire.Flags) {
	proof, err := set.Tree.Proof(i)
	if err != nil {
		d.err = fmt.Errorf("leaf %d of period %d: %w", i, set.Period, err)
		return
	}
	p := market.NewLeafProof(leaf, proof)
	a := Action{
		Kind: ReportApply, Key: fmt.Sprintf("%d/%s/%s", set.Period, leaf.Node, leaf.Lease),
		Group: fmt.Sprintf("leaves/%d", set.Period), Since: int64(set.Period),
	}
	if flags == 0 {
		ix, err := market.ReportApply(p)
		d.add(a, ix, err)
		return
	}
	a.Kind, a.Group = FaultOpen, ""
	ix, err := market.FaultOpen(market.FaultOpenArgs{Payer: d.self, Provider: n.Provider, Proof: p})
	d.add(a, ix, err)
}
