package report

import (
	"math"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// figuresOf are statements of one keeper that measured a node.
func figuresOf(keeper, node solana.PublicKey, kind records.CheckKind, f records.Figures, at int64) statement.Signed {
	s := stated(keeper, node, kind, true, 0, at)
	s.Statement.Figures = f
	return s
}

// seen is what all keepers say of a node's liveness, so that it has a leaf.
func seen(w Weights, node solana.PublicKey) (all []statement.Signed) {
	for keeper := range w {
		all = append(all, stated(keeper, node, records.CheckLiveness, true, secs, 10))
	}
	return all
}

// Dishonest members with less than half of the committee's voices cannot raise a figure above the highest that an
// honest member measured, whatever the node helps them with: it may be measured by whom it likes. Where the honest members
// that measured have more than half of the voices, they cannot lower it below the lowest either.
func TestDishonestMembersCannotMoveFigures(t *testing.T) {
	node := key(100)
	rapid.Check(t, func(t *rapid.T) {
		w := Weights{}
		for k := range rapid.IntRange(1, 9).Draw(t, "keepers") {
			w[key(byte(k+1))] = rapid.Uint64Range(1, 5).Draw(t, "weight")
		}
		in := input(w, seen(w, node)...)
		in.Seed = committee.Seed{rapid.Byte().Draw(t, "seed")}
		roster := committee.NewRoster(in.Seed, w)
		kind := rapid.SampledFrom([]records.CheckKind{records.CheckWork, records.CheckNetwork}).Draw(t, "kind")
		least, most := records.Figures{First: math.MaxUint32, Second: math.MaxUint32}, records.Figures{}
		var total, dishonest, measured uint64
		for i := range roster.Len() {
			keeper := roster.Key(i)
			voice := uint64(1)
			if roster.Everyone() {
				voice = w[keeper]
			}
			lies, sits := rapid.Bool().Draw(t, "lies"), roster.Sits(node, keeper)
			if sits {
				total += voice
			}
			if lies {
				if sits {
					dishonest += voice
				}
				for at := range rapid.Int64Range(0, 3).Draw(t, "statements") {
					f := records.Figures{First: rapid.Uint32().Draw(t, "first"), Second: rapid.Uint32().Draw(t, "second")}
					in.Statements = append(in.Statements, figuresOf(keeper, node, kind, f, at))
				}
				continue
			}
			if !sits || rapid.Bool().Draw(t, "not measured") {
				continue
			}
			f := records.Figures{First: rapid.Uint32Range(900, 1_100).Draw(t, "honest"), Second: rapid.Uint32Range(50, 60).Draw(t, "honest")}
			measured += voice
			least = records.Figures{First: min(least.First, f.First), Second: min(least.Second, f.Second)}
			most = records.Figures{First: max(most.First, f.First), Second: max(most.Second, f.Second)}
			in.Statements = append(in.Statements, figuresOf(keeper, node, kind, f, 30))
		}
		if 2*dishonest >= total {
			t.Skip("most of the committee is dishonest")
		}
		leaves := Build(in)
		require.Len(t, leaves, 1)
		got := records.Figures{First: leaves[0].Operations, Second: leaves[0].Bandwidth}
		if kind == records.CheckNetwork {
			got = records.Figures{First: leaves[0].DownMbps, Second: leaves[0].UpMbps}
		}
		require.Equal(t, got.First == 0, got.Second == 0, "both or none")
		require.LessOrEqual(t, got.First, most.First)
		require.LessOrEqual(t, got.Second, most.Second)
		if 2*measured > total {
			require.GreaterOrEqual(t, got.First, least.First)
			require.GreaterOrEqual(t, got.Second, least.Second)
		}
	})
}

// A keeper with a little less than a third of the weight sits in nearly all committees, and decides no figure alone.
func TestAHeavyKeeperDecidesNoFigureAlone(t *testing.T) {
	w := Weights{key(1): 9}
	for k := byte(2); k <= 20; k++ {
		w[key(k)] = 1
	}
	for _, lie := range []records.Figures{{First: 1, Second: 1}, {First: math.MaxUint32, Second: math.MaxUint32}} {
		sits := 0
		for n := range byte(50) {
			node := key(100 + n)
			all := seen(w, node)
			for k := range w {
				f := records.Figures{First: 1000, Second: 50}
				if k == key(1) {
					f = lie
				}
				all = append(all, figuresOf(k, node, records.CheckNetwork, f, 30))
			}
			in := input(w, all...)
			in.Seed = committee.Seed{7}
			if committee.NewRoster(in.Seed, w).Sits(node, key(1)) {
				sits++
			}
			leaf := Build(in)[0]
			require.EqualValues(t, 1000, leaf.DownMbps)
			require.EqualValues(t, 50, leaf.UpMbps)
		}
		require.Greater(t, sits, 35)
	}
}

// With half of the weight they can, so that the test above can fail.
func TestHalfOfACommitteeMovesFigures(t *testing.T) {
	node, w := key(100), weights(1, 1, 1, 1)
	all := seen(w, node)
	for k := byte(1); k <= 4; k++ {
		f := records.Figures{First: 1000, Second: 50}
		if k > 2 {
			f = records.Figures{First: 1, Second: 1}
		}
		all = append(all, figuresOf(key(k), node, records.CheckWork, f, 30))
	}
	require.EqualValues(t, 1, Build(input(w, all...))[0].Operations)
}

// A node that only some members measured has figures when they are more than half of the committee.
func TestFiguresNeedMostOfTheCommittee(t *testing.T) {
	node, w := key(100), weights(1, 1, 1, 1)
	for n, want := range []uint32{0, 0, 0, 1001, 1002} {
		all := seen(w, node)
		for k := range n {
			all = append(all, figuresOf(key(byte(k+1)), node, records.CheckWork, records.Figures{First: uint32(1001 + k), Second: 7}, 30))
		}
		leaf := Build(input(w, all...))[0]
		require.Equal(t, want, leaf.Operations, "%d of 4", n)
		require.Equal(t, want > 0, leaf.Bandwidth > 0, "%d of 4", n)
	}
}

// Of a keeper's two measurements, as after its restart, the later counts.
func TestTheLaterFigureCounts(t *testing.T) {
	node, w := key(100), weights(1)
	all := append(seen(w, node), figuresOf(key(1), node, records.CheckWork, records.Figures{First: 9, Second: 9}, 40),
		figuresOf(key(1), node, records.CheckWork, records.Figures{First: 5, Second: 6}, 50), stated(key(1), node, records.CheckWork, false, 0, 55))
	leaf := Build(input(w, all...))[0]
	require.EqualValues(t, 5, leaf.Operations)
	require.EqualValues(t, 6, leaf.Bandwidth)
}

// All members of a committee state that a free machine has refused. Where everybody sits in it, that is a failed check,
// which costs stake. Where it was drawn from more keepers, the committee is no two thirds of the weight: there is no
// flag, and no figure either, by which the machine leaves its class and is awarded nothing.
func TestARefusedMeasurementSellsNothing(t *testing.T) {
	for keepers, flagged := range map[int]bool{4: true, 20: false} {
		w := Weights{}
		for k := range keepers {
			w[key(byte(k+1))] = 1
		}
		node := key(100)
		in := input(w, seen(w, node)...)
		in.Seed = committee.Seed{7}
		roster := committee.NewRoster(in.Seed, w)
		for k := range w {
			if roster.Sits(node, k) {
				in.Statements = append(in.Statements, stated(k, node, records.CheckWork, false, 0, 30))
			}
		}
		leaves := Build(in)
		require.Len(t, leaves, 1)
		leaf := &leaves[0]
		require.Zero(t, leaf.Operations)
		require.Equal(t, flagged, leaf.Flags.Has(records.FlagWorkFailed), "%d keepers", keepers)

		p := &market.Params{PeriodSecs: secs}
		n := &market.Node{}
		n.Spec.Gpus, n.MinOperations, n.Operations, n.ClassSince = 1, 1_000, 1_000, 5
		n.Status, n.LastReportPeriod = uint8(market.NodeActive), uint64(leaf.Period)
		n.StartAvailability(1)
		require.True(t, market.FiguresSuit(&market.Requirement{}, n, true))
		n.NoteFigures(leaf, p, int64(leaf.Period+1)*secs)
		require.False(t, market.FiguresSuit(&market.Requirement{}, n, true), "%d keepers", keepers)
	}
}
