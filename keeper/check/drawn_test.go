package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// leaving are the ways out of work that a node has, as the chain shows them when it takes one at a time and slot.
var leaving = map[string]func(n *market.Node, at time.Time, slot uint64){
	"reports a dead GPU": func(n *market.Node, at time.Time, slot uint64) {
		n.Node.Status, n.DiedAt, n.DeadUntil, n.Slot = uint8(market.NodeSuspended), at.Unix(), at.Add(720*time.Hour).Unix(), slot
	},
	"reports a dead GPU and drains": func(n *market.Node, at time.Time, slot uint64) {
		n.Node.Status, n.DiedAt, n.DeadUntil, n.Slot = uint8(market.NodeDraining), at.Unix(), at.Add(720*time.Hour).Unix(), slot
	},
	"hibernates": func(n *market.Node, _ time.Time, slot uint64) {
		n.Node.Status, n.Slot = uint8(market.NodeHibernated), slot
	},
	"retires": func(n *market.Node, _ time.Time, slot uint64) {
		n.Node.Status, n.Slot = uint8(market.NodeRetired), slot
	},
}

// A node does not get out of its measurement by leaving work, whether it does so when it sees the block or when it is asked: it
// has failed. One that had left before is not asked.
func TestLeavingAfterTheInstantEscapesNothing(t *testing.T) {
	for name, leave := range leaving {
		for _, when := range []string{"before the instant", "after the instant", "when asked"} {
			t.Run(name+" "+when, func(t *testing.T) {
				var l *leasing
				out := func(at time.Time, slot uint64) {
					n := *l.what.node
					leave(&n, at, slot)
					l.o.View.Put(n.Address, &n)
				}
				l, m := newMeasuring(t, func(measure.Node, instant.Instant) measure.Result {
					if when == "when asked" {
						out(l.drawn.At, l.drawn.Slot+9)
					}
					return measure.Result{Outcome: measure.Refused, Why: &measure.RefusedError{Why: messages.MeasureUnready}}
				})
				l.scanIn(l.drawn.Period)
				switch when {
				case "before the instant":
					out(l.drawn.At.Add(-time.Second), l.drawn.Slot-1)
				case "after the instant":
					out(l.drawn.At, l.drawn.Slot+1)
				}
				l.scanIn(l.drawn.Period)
				l.Tick(t.Context())
				findings := l.worked()
				if when == "before the instant" {
					require.Empty(t, m.asked)
					require.Empty(t, findings)
					return
				}
				require.Len(t, m.asked, 1)
				require.Len(t, findings, 1)
				require.False(t, findings[0].Passed)
				require.Equal(t, l.drawn.Period, findings[0].Period)
			})
		}
	}
}

// Without the block no node is measured.
func TestMeasuringWaitsForTheBlock(t *testing.T) {
	l, m := newMeasuring(t, sayMeasured)
	l.o.Instants = func(records.Period) (instant.Instant, bool) { return instant.Instant{}, false }
	l.Tick(t.Context())
	require.Empty(t, l.worked())
	require.Empty(t, m.asked)
}

// scanIn brings the checker up to date with the nodes, in a period.
func (c *Checker) scanIn(p records.Period) {
	c.round.Period, c.scanAt = p, time.Time{}
	c.scan(c.o.Now())
}

// A node that comes back to work in the period is watched again, and nothing is asked twice that is asked for once.
func TestANodeThatComesBackIsWatchedAgain(t *testing.T) {
	begin := time.Unix(500*planSecs, 0)
	p := NewPlanner(publicTiming(), planSecs)
	node := planNodes(1, never)
	p.Sync(node, begin)
	p.Begin(planRound(3, 0, false), begin)
	count := map[records.CheckKind]int{}
	for s := range planSecs {
		now := begin.Add(time.Duration(s) * time.Second)
		if s == 300 || s == 2400 {
			node[0].Left = s == 300
			p.Sync(node, now)
		}
		out, _ := p.Due(now, 10)
		for _, q := range out {
			require.False(t, node[0].Left)
			count[q.Kind]++
		}
	}
	require.InDelta(t, 25, count[records.CheckLiveness], 5)
	require.Equal(t, 1, count[records.CheckInventory])
}
