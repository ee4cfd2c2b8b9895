package crank

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// leaves applies the leaves of final reports, oldest period first. Each is applied once for its node and once for its
// lease; the chain takes them in any order within its window, so nothing waits for a report that is late.
func (d *due) leaves(sets Sets) {
	if sets == nil {
		return
	}
	for _, period := range periods(d.v) {
		if r := d.v.Reports[period]; r.State() == market.ReportFinal {
			if set := sets(records.Period(period), r.Root); set != nil {
				d.leavesOf(set)
			}
		}
	}
}

// mostLeaves is how many leaves of a report are due at once. More of them are not sent before the next look, and each proof and
// instruction takes microseconds: those of a million would take longer than sending what there is room for.
const mostLeaves = 4_096

// lookFor is for how many seconds a keeper begins at the same part of a large report.
const lookFor = 60

// leavesOf goes through one set: through a small one as a whole, through a large one part by part until one has leaves that are due. Each
// keeper begins with another part, and with the next one after a while, so that leaves which are refused keep no others
// back.
func (d *due) leavesOf(set *report.Set) {
	parts := (len(set.Leaves) + mostLeaves - 1) / mostLeaves
	turn := binary.LittleEndian.Uint64(d.self[:8])%uint64(max(parts, 1)) + uint64(max(d.now, 0))/lookFor
	for i := range parts {
		before := len(d.out)
		d.leavesOfPart(set, int((turn+uint64(i))%uint64(parts)))
		if len(d.out) > before {
			return
		}
	}
}

// part is a part of leaves, which begins and ends with a node, and the index of its first leaf.
func part(all []records.Leaf, number int) (some []records.Leaf, first int) {
	first = number * mostLeaves
	last := min(first+mostLeaves, len(all))
	for first > 0 && first < last && all[first].Node == all[first-1].Node {
		first++
	}
	for last < len(all) && all[last].Node == all[last-1].Node {
		last++
	}
	return all[first:last], first
}

// leavesOfPart goes through a part. Leaves of leases come first: the first leaf of a node brings the node's own news. The
// node's leaf without a lease stands in where no lease's can be applied. A fault of the machine is opened by any of them
// and is one for all; what they say of their leases follows when it is there.
func (d *due) leavesOfPart(set *report.Set, number int) {
	withLease, faulty := map[solana.PublicKey]bool{}, map[solana.PublicKey]bool{}
	some, first := part(set.Leaves, number)
	for pass := range 2 {
		for i, leaf := range some {
			if leaf.Lease.IsZero() != (pass == 1) {
				continue
			}
			n, ok := d.v.Nodes[leaf.Node]
			if !ok || withLease[leaf.Node] && leaf.Lease.IsZero() || faulty[leaf.Node] {
				continue
			}
			l := d.v.Leases[leaf.Lease]
			if l != nil && (l.Node != leaf.Node || l.StartedAt == 0) {
				continue
			}
			nodeNew, leaseNew, flags := market.LeafNews(&leaf, n, l, &d.v.Market.Params)
			ofNode := flags&market.NodeFlags != 0
			if !nodeNew && !leaseNew || l == nil && !leaf.Lease.IsZero() && !ofNode {
				continue
			}
			withLease[leaf.Node], faulty[leaf.Node] = true, ofNode
			d.leaf(set, uint32(first+i), leaf, n, flags)
		}
	}
}

func (d *due) leaf(set *report.Set, i uint32, leaf records.Leaf, n *market.Node, flags records.Flags) {
	proof, err := set.Tree.Proof(i)
	if err != nil {
		d.err = fmt.Errorf("leaf %d of period %d: %w", i, set.Period, err)
		return
	}
	p := ix.NewLeafProof(leaf, proof)
	a := Action{
		Kind: ReportApply, Key: fmt.Sprintf("%d/%s/%s", set.Period, leaf.Node, leaf.Lease),
		Group: fmt.Sprintf("leaves/%d", set.Period), Since: int64(set.Period),
	}
	if flags == 0 {
		instruction, err := ix.ReportApply(p)
		d.add(a, instruction, err)
		return
	}
	ofNode := flags&market.NodeFlags != 0
	if ofNode {
		a.Key = fmt.Sprintf("%d/%s", set.Period, leaf.Node)
	}
	a.Kind, a.Group = FaultOpen, ""
	instruction, err := ix.FaultOpen(ix.FaultOpenArgs{Payer: d.signer(), Node: *n, OfNode: ofNode, Proof: p})
	d.add(a, instruction, err)
}
