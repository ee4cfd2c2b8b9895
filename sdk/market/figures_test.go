package market_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

func TestVectorsFigures(t *testing.T) {
	for i, c := range vectors[struct {
		Operations, Bandwidth uint32
		MinOperations         uint32 `json:"min_operations"`
		MinBandwidth          uint32 `json:"min_bandwidth"`
		Share                 uint16
	}](t, "figures.json") {
		require.Equal(t, c.Share, market.ShareBPS(c.Operations, c.Bandwidth, c.MinOperations, c.MinBandwidth), "case %d", i)
	}
	raw, err := os.ReadFile("../../idl/vectors/figures.json")
	require.NoError(t, err)
	var doc struct {
		Windows []struct {
			Shares  []uint16
			InClass bool `json:"in_class"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotEmpty(t, doc.Windows)
	for i, w := range doc.Windows {
		require.Equal(t, w.InClass, market.InClass(w.Shares), "window %d", i)
	}
}

// measuredIn is a node of a class that a sequence of leaves of one period each was applied to.
// The market allows simulated GPUs.
func measuredIn(n *market.Node, first uint64, figures ...uint32) (slow int) {
	return measuredBy(&market.Params{PeriodSecs: 60, AllowSimulated: 1}, n, first, figures...)
}

func measuredBy(p *market.Params, n *market.Node, first uint64, figures ...uint32) (slow int) {
	for i, f := range figures {
		leaf := &records.Leaf{Period: records.Period(first + uint64(i)), Operations: f, Bandwidth: f}
		_, _, flags := market.LeafNews(leaf, n, nil, p)
		n.LastReportPeriod, n.ReportWindow = uint64(leaf.Period), ^uint32(0)
		_, was := n.NoteFigures(leaf, p, int64(uint64(leaf.Period)+1)*int64(p.PeriodSecs))
		if was {
			slow++
		}
		if was != flags.Has(records.FlagSlow) {
			return -1
		}
	}
	return slow
}

func classNode() *market.Node {
	n := &market.Node{}
	n.MinOperations, n.MinBandwidth, n.Node.Status = 1_000, 1_000, uint8(market.NodeActive)
	n.LastReportPeriod = 99
	return n
}

// One good period in six keeps a machine from being slow, and only a mean that is enough makes it one of its class. The
// last figures are there whatever they are worth, and a machine that was found slow begins anew.
func TestFiguresMakeAndBreakAClass(t *testing.T) {
	n := classNode()
	require.Zero(t, measuredIn(n, 100, 1_000))
	require.EqualValues(t, 101*60, n.ClassSince)
	require.Zero(t, measuredIn(n, 101, 300))
	require.Zero(t, n.ClassSince, "a mean of 0.65")
	require.EqualValues(t, 300, n.Operations)
	require.Zero(t, measuredIn(n, 102, 900))
	require.NotZero(t, n.ClassSince, "a mean of 0.73")
	require.Equal(t, 1, measuredIn(n, 103, 690, 690, 690, 690, 690, 690))
	require.Empty(t, n.ClassShares())
	require.Zero(t, n.ClassSince)
	require.Zero(t, measuredIn(n, 109, 690, 690, 690, 690, 690), "five are too few")
}

// In a market of real GPUs a machine is slow after sixteen small shares in a row.
func TestARowOfSixteenIsSlow(t *testing.T) {
	p := &market.Params{PeriodSecs: 60}
	n := classNode()
	fifteen := slices.Repeat([]uint32{690}, 15)
	require.Zero(t, measuredBy(p, n, 100, fifteen...))
	require.Zero(t, measuredBy(p, n, 115, 700), "one that is enough")
	require.Zero(t, n.SlowPeriods)
	require.Zero(t, measuredBy(p, n, 116, fifteen...))
	require.Equal(t, 1, measuredBy(p, n, 131, 690))
	require.Zero(t, n.SlowPeriods)
	require.Empty(t, n.ClassShares())
}

// A machine that was wholly free for a period, and was not measured in it, is not awarded before it is measured again.
func TestAFreeMachineThatIsNotMeasuredLeavesItsClass(t *testing.T) {
	for free, want := range map[bool]bool{true: false, false: true} {
		n := classNode()
		n.Spec.Gpus = 1
		n.StartAvailability(50 * 60)
		require.Zero(t, measuredIn(n, 100, 1_000))
		if !free {
			n.GpuMask, n.LiveLeases = 1, 1
			n.NoteFree(101*60 + 30)
		}
		require.Zero(t, measuredIn(n, 101, 0))
		require.Equal(t, want, n.ClassSince != 0)
		require.EqualValues(t, 1_000, n.Operations, "the last ones")
	}
}

// k machines that take turns with one GPU, in any order, are never of their class at once for k > 1, once each was measured
// six times: their means add up to one.
func TestTurnsAreNoClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 6).Draw(t, "k")
		nodes := make([]*market.Node, k)
		for i := range nodes {
			nodes[i] = classNode()
		}
		period := uint64(100)
		for range rapid.IntRange(market.FigurePeriods, 20).Draw(t, "periods") {
			has := rapid.IntRange(0, k-1).Draw(t, "has")
			for i, n := range nodes {
				figure := uint32(1)
				if i == has {
					figure = 1_000
				}
				require.GreaterOrEqual(t, measuredIn(n, period, figure), 0)
			}
			period++
		}
		in := 0
		for _, n := range nodes {
			if len(n.ClassShares()) == market.FigurePeriods && n.ClassSince != 0 {
				in++
			}
		}
		require.LessOrEqual(t, in, 1)
	})
}

// Whatever a free machine refuses, it is of its class in the periods alone that follow one in which it was measured,
// with a mean that is enough: each refusal takes it out, and none puts it in. Who shows one GPU as several machines and
// refuses for the others sells as one that sleeps.
func TestRefusingNeverPays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := classNode()
		n.Spec.Gpus = 1
		n.StartAvailability(50 * 60)
		sold, measured := 0, 0
		for period := uint64(100); period < 100+uint64(rapid.IntRange(1, 30).Draw(t, "periods")); period++ {
			figure := rapid.SampledFrom([]uint32{0, 300, 1_000}).Draw(t, "figure, 0 for a refusal")
			require.GreaterOrEqual(t, measuredIn(n, period, figure), 0)
			if figure == 0 {
				require.False(t, market.FiguresSuit(&market.Requirement{}, n, true), "awarded after a refusal")
				continue
			}
			measured++
			if market.FiguresSuit(&market.Requirement{}, n, true) {
				require.True(t, market.InClass(n.ClassShares()))
				sold++
			}
		}
		require.LessOrEqual(t, sold, measured)
	})
}

// A machine that leases itself a second of each hour is never free for a whole one. It keeps its class and figures though nobody
// measures it any more, and is free for orders all the time: finding M 9, which is open. A machine without such leases loses its
// class in the first hour.
func TestALeaseOfASecondAnHourKeepsTheClass(t *testing.T) {
	const hour, first = 3600, 500_000
	p := &market.Params{PeriodSecs: hour}
	for _, leased := range []bool{true, false} {
		n := classNode()
		n.Spec.Gpus, n.LastReportPeriod = 8, first-1
		n.StartAvailability(first*hour - 10)
		require.Zero(t, measuredBy(p, n, first, 1_000))
		for period := uint64(first + 1); period < first+24*30; period++ {
			if leased {
				began := int64(period*hour + hour/2)
				n.GpuMask = 1
				n.NoteFree(began)
				n.GpuMask = 0
				n.NoteFree(began + 1)
			}
			require.Zero(t, measuredBy(p, n, period, 0))
		}
		require.Equal(t, leased, n.ClassSince != 0)
		require.EqualValues(t, first, n.MeasuredPeriod)
		require.EqualValues(t, 1_000, n.Operations)
	}
}
