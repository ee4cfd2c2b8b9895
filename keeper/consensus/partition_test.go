package consensus

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Three of seven are cut off: no report becomes final, and no keeper votes twice. When they are back, it does.
func TestAPartitionHeals(t *testing.T) {
	c := newCluster(t, 7)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	away := c.participants[:3]
	for _, p := range away {
		p.partitioned = true
	}
	stop := c.start()
	defer stop()
	time.Sleep(4 * c.participants[0].engine.o.Timing.Round)
	_, ok := c.final()
	require.False(t, ok)
	c.heal()
	root := c.awaitFinal()
	require.Eventually(t, func() bool { return c.allHold(root) }, 90*time.Second, 5*time.Millisecond)
	c.requireOneVoteEach()
}

// Two of four are cut off for longer than keepers work on a period without pause. It is final soon after they are back
// all the same.
func TestPeriodWaitsForALongPartition(t *testing.T) {
	c := newCluster(t, 4)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
		p.engine.o.Timing.Round = 100 * time.Millisecond
	}
	for _, p := range c.participants[:2] {
		p.partitioned = true
	}
	stop := c.start()
	defer stop()
	time.Sleep(time.Duration(turnsBeforeBackoff*len(c.participants)+6) * 100 * time.Millisecond)
	_, ok := c.final()
	require.False(t, ok, "two of four are no quorum")
	c.heal()
	c.awaitFinal()
}

// Of many old periods a few are attended to at a time, every one of them in its turn, and the same by all keepers.
func TestOldPeriodsTakeTurns(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	timing := Timing{Delay: time.Second, Round: 10 * time.Second}
	var open []chainFacts
	for p := range records.Period(11) {
		open = append(open, chainFacts{period: p, end: int64(p) * 60, weights: report.Weights{{1}: 1, {2}: 1}})
	}
	final := &market.Report{}
	final.Report.Status = uint8(market.ReportFinal)
	open[3].report = final
	seen := map[records.Period]int{}
	for range 5 {
		recent := chainFacts{period: 11, end: now.Unix() - 5, weights: open[0].weights}
		attended := attend(append(open, recent), now, timing)
		require.Equal(t, attended, attend(append(open, recent), now.Add(time.Second), timing), "by all keepers, whose clocks differ a little")
		require.Len(t, attended, oldAtATime)
		for p := range attended {
			seen[p]++
		}
		now = now.Add(roundsOfTurn * 10 * time.Second)
	}
	require.Len(t, seen, 10, "all but the final one and the one that has its time still")
	for p, n := range seen {
		require.Equal(t, 2, n, "period %d", p)
	}
}

// A keeper that missed a period gets the leaves from a peer and believes only those that lead to the root on chain.
func TestLateKeeperTrustsOnlyTheRootOnChain(t *testing.T) {
	c := newCluster(t, 4)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	late := c.proposer(3)
	late.partitioned = true
	stop := c.start()
	defer stop()
	root := c.awaitFinal()
	dishonest := c.proposer(0)
	leaf := records.Leaf{Node: solana.PublicKey{100}, Period: c.period, UpSeconds: 1}
	forged, err := report.NewSet([]records.Leaf{leaf})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.allHold(root, late) }, 90*time.Second, 5*time.Millisecond)
	require.NoError(t, dishonest.store.PutLeaves(c.period, root, forged.EncodeLeaves()), "a peer hands out other leaves under that root")
	c.heal()
	require.Eventually(t, func() bool { return c.allHold(root) }, 90*time.Second, 5*time.Millisecond)
	require.Equal(t, root, late.engine.Set(c.period, root).Root)
	require.EqualValues(t, 4, late.engine.Set(c.period, root).Leaves[0].UpSeconds)
}
