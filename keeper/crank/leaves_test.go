package crank

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

// docs/reports/keeper-economics.md counts with so many leaves in a transaction: it is what keepers pay most for.
func TestLeavesOfATransaction(t *testing.T) {
	for _, c := range []struct {
		nodes       int
		leaves, one int
	}{{8, 2, 8}, {200, 1, 7}, {1_000, 1, 6}, {40_000, 1, 4}} {
		depth := 0
		for n := 1; n < c.nodes; n *= 2 {
			depth++
		}
		actions := make([]Action, 8)
		for i := range actions {
			p := ix.LeafProof{
				Leaf:     records.Leaf{Node: solana.PublicKey{1, byte(i)}, Period: 7, Lease: solana.PublicKey{2, byte(i)}},
				Siblings: make([]records.Hash, depth),
			}
			instruction, err := ix.ReportApply(p)
			require.NoError(t, err)
			actions[i] = Action{Kind: ReportApply, Key: string(rune('a' + i)), Instructions: []solana.Instruction{instruction}}
		}
		for form, want := range map[txform.Form]int{txform.Legacy: c.leaves, txform.VersionOne: c.one} {
			got := Pack(actions, solana.PublicKey{9}, form, MaxBatch, nil)
			require.Len(t, got[0].Actions, want, "%d nodes, %s", c.nodes, form)
		}
	}
}

// Every leaf of a large report is in exactly one part, and no node is in two.
func TestALargeReportIsLookedAtInParts(t *testing.T) {
	for _, count := range []int{1, mostLeaves, mostLeaves + 1, 3*mostLeaves + 17} {
		all := make([]records.Leaf, 0, count)
		for n := 0; len(all) < count; n++ {
			l := records.Leaf{Node: solana.PublicKey{byte(n >> 16), byte(n >> 8), byte(n)}}
			for range 1 + n%3 {
				all = append(all, l)
				l.Lease[0]++
			}
		}
		seen, of := make([]int, len(all)), map[solana.PublicKey]int{}
		for number := range (len(all) + mostLeaves - 1) / mostLeaves {
			some, first := part(all, number)
			require.LessOrEqual(t, len(some), mostLeaves+2)
			for i := range some {
				require.Equal(t, all[first+i], some[i])
				seen[first+i]++
				if before, known := of[some[i].Node]; known {
					require.Equal(t, before, number)
				}
				of[some[i].Node] = number
			}
		}
		for i, times := range seen {
			require.Equal(t, 1, times, "leaf %d of %d", i, len(all))
		}
	}
}

// Of a large report some leaves are due at once, others for another keeper and at another time, and the last ones wherever
// a keeper begins.
func TestSomeLeavesOfALargeReportAreDueAtOnce(t *testing.T) {
	const count = 2*mostLeaves + 5
	var leaves []records.Leaf
	x := view.NewAccounts()
	x.Market = &market.Market{}
	x.Market.Params = market.DefaultParams()
	for n := range count {
		l := records.Leaf{Node: solana.PublicKey{1, byte(n >> 8), byte(n)}, Period: 7, UpSeconds: 60, ChecksTotal: 1, ChecksPassed: 1}
		leaves = append(leaves, l)
		node := &market.Node{Meta: market.Meta{Address: l.Node}}
		node.LastReportPeriod, node.ReportWindow = 6, ^uint32(0)
		x.Put(l.Node, node)
	}
	set, err := report.NewSet(leaves)
	require.NoError(t, err)
	due := func(self byte, now int64) []Action {
		d := due{v: x, self: solana.PublicKey{self}, now: now}
		d.leavesOf(set)
		require.NoError(t, d.err)
		return d.out
	}
	first := due(0, 0)
	require.Len(t, first, mostLeaves)
	require.NotEqual(t, first[0].Key, due(1, 0)[0].Key)
	require.NotEqual(t, first[0].Key, due(0, lookFor)[0].Key)
	for _, l := range leaves[:2*mostLeaves] {
		node := *x.Nodes[l.Node]
		node.LastReportPeriod = 7
		x.Put(l.Node, &node)
	}
	for self := range byte(3) {
		require.Len(t, due(self, 0), 5)
	}
}
