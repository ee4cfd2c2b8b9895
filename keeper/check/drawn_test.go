package check

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/committee"
	"github.com/gantry-market/gantry/client/market/instant"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
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

// A node that was drawn does not get out of the check by leaving work, whether it does so when it sees the block or when
// it is asked: it has failed. One that had left before is not asked.
func TestR10LeavingAfterTheDrawEscapesNothing(t *testing.T) {
	for name, leave := range leaving {
		for _, when := range []string{"before the draw", "after the draw", "when asked"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				var checker *Checker
				var what subject
				drawn := drawnIn(records.Period(time.Now().Unix() / 3600))
				out := func(at time.Time, slot uint64) {
					n := *what.node
					leave(&n, at, slot)
					checker.o.View.Put(n.Address, &n)
				}
				works := 0
				checker, got, what := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
					if req.Kind == messages.CheckLiveness {
						return alive(req), nil
					}
					if works++; when == "when asked" {
						out(drawn.At, drawn.Slot+9)
					}
					return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "a GPU has died"}, nil
				})
				checker.o.Secs = 3600
				checker.scanIn(drawn.Period)
				switch when {
				case "before the draw":
					out(drawn.At.Add(-time.Second), drawn.Slot-1)
				case "after the draw":
					out(drawn.At, drawn.Slot+1)
				}
				checker.scanIn(drawn.Period)
				q := Check{Node: what.node.Address, Kind: records.CheckWork}
				checker.instant = &drawn
				checker.begin(t.Context(), q, checker.nodes[q.Node], time.Second)
				checker.wg.Wait()
				if when == "before the draw" {
					require.Zero(t, works)
					require.Empty(t, got.all)
					return
				}
				require.Equal(t, insistTries, works)
				require.Len(t, got.all, 1)
				require.False(t, got.all[0].Passed)
				require.Equal(t, drawn.Period, got.all[0].Period)
			})
		}
	}
}

// scanIn brings the checker up to date with the nodes, in a period.
func (c *Checker) scanIn(p records.Period) {
	c.round.Period, c.scanAt = p, time.Time{}
	c.scan(c.o.Now())
}

// Without the block nobody is asked; with it those are that it draws, once, and all keepers ask the same.
func TestR10WorkWaitsForTheBlock(t *testing.T) {
	const nodes, every = 60, 4
	asked := map[solana.PublicKey]map[int]int{}
	begin := time.Unix(500*planSecs, 0)
	drawn := instant.Instant{Period: 500, At: begin.Add(time.Minute), Slot: 9, Seed: [32]byte{7}}
	timing := publicTiming()
	timing.WorkEvery = every
	for self := range 4 {
		p := NewPlanner(timing, planSecs)
		p.Sync(planNodes(nodes, never), begin)
		p.Begin(planRound(4, self, false), begin)
		for s := range planSecs {
			now := begin.Add(time.Duration(s) * time.Second)
			if s == 61+self { // the keepers read the block one after the other
				p.Instant(drawn, now)
				p.Sync(planNodes(nodes, never), now)
				p.Begin(planRound(4, self, true), now)
			}
			out, _ := p.Due(now, 1000)
			for _, q := range out {
				if q.Kind == records.CheckWork {
					require.GreaterOrEqual(t, s, 61)
					require.LessOrEqual(t, s, 61+self+planSecs/workSpread+1, "seconds after the block")
					if asked[q.Node] == nil {
						asked[q.Node] = map[int]int{}
					}
					asked[q.Node][self]++
				}
			}
		}
	}
	for _, n := range planNodes(nodes, never) {
		if !drawn.Due(n.Node, every) {
			require.Empty(t, asked[n.Node])
			continue
		}
		require.Equal(t, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}, asked[n.Node])
	}
}

// Keepers outside of the committee verify a failed work check of a node that has left only when most of its committee
// signed one, and none of a node that was not drawn.
func TestR10OthersVerifyWhoLeftByMostOfItsCommittee(t *testing.T) {
	begin := time.Unix(500*planSecs, 0)
	node := planNodes(1, never)
	r := planRound(19, 0, true)
	seats := r.Roster.Draw(nil, node[0].Node)
	for i := range 19 {
		if !r.Roster.Sits(node[0].Node, keyOf(i)) {
			r.Self = keyOf(i)
		}
	}
	timing := publicTiming()
	timing.WorkEvery = 1
	p := NewPlanner(timing, planSecs)
	p.Sync(node, begin)
	p.Begin(r, begin)
	p.Instant(drawnIn(500), begin)
	node[0].Left = true
	p.Sync(node, begin)
	for i := range committee.Quorum {
		s := records.CheckStatement{Node: node[0].Node, Period: 500, Kind: records.CheckWork}
		require.Equal(t, i == 0, p.PeerFailure(r.Roster.Key(seats[i]), s, begin), "planned once")
		p.PeerFailure(r.Roster.Key(seats[i]), s, begin)
		s.Kind = records.CheckInventory
		require.False(t, p.PeerFailure(r.Roster.Key(seats[i]), s, begin), "it is asked for nothing else")
	}
	n := 0
	play(p, begin, 10, func(_ time.Time, q Check) {
		require.Equal(t, records.CheckWork, q.Kind)
		require.True(t, q.Point)
		require.Equal(t, committee.Quorum, q.Accusers)
		n++
	})
	require.Equal(t, 1, n)

	// The checker takes the count: two of five are too few for a node that has left, and enough for one that is there.
	checker, _, what := newChecker(t, nil)
	drawn := drawnIn(7)
	checker.instant = &drawn
	q := Check{Node: what.node.Address, Kind: records.CheckWork, Point: true, Accusers: committee.Quorum - 1}
	require.True(t, checker.mayAskForWork(what, q))
	left := *what.node
	leaving["hibernates"](&left, drawn.At, drawn.Slot+1)
	checker.o.View.Put(left.Address, &left)
	require.False(t, checker.mayAskForWork(what, q))
	q.Accusers++
	require.True(t, checker.mayAskForWork(what, q))

	timing.WorkEvery = 0 // nobody is drawn
	none := NewPlanner(timing, planSecs)
	node[0].Left = false
	none.Sync(node, begin)
	none.Begin(r, begin)
	none.Instant(drawnIn(500), begin)
	require.False(t, none.PeerFailure(r.Roster.Key(seats[0]), records.CheckStatement{Node: node[0].Node, Period: 500, Kind: records.CheckWork}, begin))
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

// With a lease the GPUs are the customer's, whenever it began: nothing is said then.
func TestR11ALeaseAfterTheDrawLeavesTheCheckUnknown(t *testing.T) {
	checker, got, what := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
		return prove(t, req, work.CPU{Workers: 1}), nil
	})
	busy := *what.node
	busy.LiveLeases, busy.Slot = 1, 105
	checker.o.View.Put(busy.Address, &busy)
	drawn := drawnIn(7)
	checker.instant = &drawn
	require.False(t, checker.mayAskForWork(what, Check{Node: busy.Address, Kind: records.CheckWork}))
	require.Empty(t, got.all)
}
