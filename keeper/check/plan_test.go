package check

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

func keyOf(n int) solana.PublicKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("plan"), uint64(n)))
}

const planSecs = 3600

func planRound(keepers, self int, drawn bool) Round {
	weights := map[solana.PublicKey]uint64{}
	for i := range keepers {
		weights[keyOf(i)] = 100
	}
	return Round{
		Period: 500, Drawn: drawn, Roster: committee.NewRoster(committee.Seed{9}, weights), Self: keyOf(self), Secret: [32]byte{byte(self)},
	}
}

func planNodes(n int, leased func(int) bool) []Watched {
	out := make([]Watched, n)
	for i := range out {
		out[i] = Watched{Node: keyOf(1_000_000 + i), Leased: leased(i)}
	}
	return out
}

func publicTiming() Timing {
	return Timing{Every: time.Minute, Timeout: 10 * time.Second, EvidenceEvery: 24}
}

// play runs a planner over a period and returns the checks with the times at which they were given out.
func play(p *Planner, begin time.Time, room int, each func(time.Time, Check)) (skipped int) {
	for s := range planSecs {
		now := begin.Add(time.Duration(s) * time.Second)
		out, n := p.Due(now, room)
		skipped += n
		for _, q := range out {
			each(now, q)
		}
	}
	return skipped
}

func never(int) bool { return false }

func TestCommitteesShareTheWork(t *testing.T) {
	const keepers, nodes = 19, 120
	begin := time.Unix(500*planSecs, 0)
	watched := planNodes(nodes, func(i int) bool { return i%3 == 0 })
	liveness := map[solana.PublicKey]map[int]int{}
	inventory, evidence := map[solana.PublicKey]int{}, map[solana.PublicKey]int{}
	for self := range keepers {
		p := NewPlanner(publicTiming(), planSecs)
		p.Sync(watched, begin)
		p.Begin(planRound(keepers, self, true), begin)
		p.Instant(instant.Instant{Period: 500, At: begin, Seed: [32]byte{4}}, begin)
		require.Zero(t, play(p, begin, 1000, func(_ time.Time, q Check) {
			require.False(t, q.Point)
			switch q.Kind {
			case records.CheckLiveness:
				if liveness[q.Node] == nil {
					liveness[q.Node] = map[int]int{}
				}
				liveness[q.Node][self]++
			case records.CheckInventory:
				inventory[q.Node]++
			case records.CheckEvidence:
				evidence[q.Node]++
			}
		}))
	}
	for i, n := range watched {
		by := liveness[n.Node]
		seats := 0
		for _, times := range by {
			if times > 55 {
				require.Less(t, times, 66)
				seats++
			} else {
				require.True(t, times >= 13 && times <= 18, "%d times, by a keeper that watches it with all", times)
			}
		}
		require.Equal(t, committee.Size, seats, "members ask every minute")
		if n.Leased {
			require.Len(t, by, keepers, "everybody watches what earns money")
		} else {
			require.Len(t, by, committee.Size)
		}
		if (instant.Instant{Seed: [32]byte{4}}).DueForEvidence(n.Node, 24) {
			require.Equal(t, keepers, evidence[n.Node], "node %d", i)
			require.Equal(t, keepers, inventory[n.Node])
		} else {
			require.Zero(t, evidence[n.Node])
			require.Equal(t, committee.Size, inventory[n.Node])
		}
	}
}

// Which nodes show evidence in a period, and when, is not known before the block of its instant, in networks of any size.
// A tier that lapses soon is asked about in any case.
func TestEvidenceIsDrawnByALateBlock(t *testing.T) {
	const nodes = 240
	begin := time.Unix(500*planSecs, 0)
	at := begin.Add(planSecs / 2 * time.Second)
	for _, keepers := range []int{1, 3, committee.Size, 19} {
		drawn := func(seed byte) map[solana.PublicKey]bool {
			p := NewPlanner(publicTiming(), planSecs)
			watched := planNodes(nodes, never)
			watched[7].Lapses = true
			p.Sync(watched, begin)
			p.Begin(planRound(keepers, 0, true), begin)
			out := map[solana.PublicKey]bool{}
			seen := map[solana.PublicKey]bool{}
			for now := begin; now.Before(begin.Add(planSecs * time.Second)); now = now.Add(time.Second) {
				if now.Equal(at) {
					p.Instant(instant.Instant{Period: 500, At: at, Seed: [32]byte{seed}}, now)
				}
				due, _ := p.Due(now, 1000)
				for _, q := range due {
					seen[q.Node] = seen[q.Node] || q.Kind == records.CheckInventory
					if q.Kind == records.CheckEvidence {
						require.False(t, now.Before(at), "asked before the block was there")
						require.True(t, seen[q.Node], "its devices are seen before")
						require.False(t, out[q.Node], "once")
						out[q.Node] = true
					}
				}
			}
			require.True(t, out[watched[7].Node])
			return out
		}
		one, other := drawn(1), drawn(2)
		require.InDelta(t, nodes/24, len(one), 8)
		both := 0
		for n := range one {
			if other[n] {
				both++
			}
		}
		require.Less(t, both, len(one)/2, "another block draws others")
	}
}

func TestSmallNetworksCheckEverything(t *testing.T) {
	begin := time.Unix(500*planSecs, 0)
	for self := range committee.Size {
		p := NewPlanner(publicTiming(), planSecs)
		p.Sync(planNodes(20, func(i int) bool { return i%2 == 0 }), begin)
		p.Begin(planRound(committee.Size, self, false), begin)
		n := map[solana.PublicKey]int{}
		play(p, begin, 1000, func(_ time.Time, q Check) {
			if q.Kind == records.CheckLiveness {
				n[q.Node]++
			}
		})
		require.Len(t, n, 20)
		for _, times := range n {
			require.Greater(t, times, 53)
		}
		require.False(t, p.PeerFailure(keyOf((self+1)%5), records.CheckStatement{Node: keyOf(1_000_000), Period: 500, Kind: records.CheckLiveness}, begin))
	}
}

// Without a seed only nodes with leases are watched; with it the rest follows, and nothing is asked twice that is asked
// for once.
func TestTheSeedComesLate(t *testing.T) {
	begin := time.Unix(500*planSecs, 0)
	p := NewPlanner(publicTiming(), planSecs)
	p.Sync(planNodes(60, func(i int) bool { return i < 10 }), begin)
	p.Begin(planRound(19, 0, false), begin)
	count := map[records.CheckKind]map[solana.PublicKey]int{}
	take := func(q Check) {
		if count[q.Kind] == nil {
			count[q.Kind] = map[solana.PublicKey]int{}
		}
		count[q.Kind][q.Node]++
	}
	for s := range planSecs {
		now := begin.Add(time.Duration(s) * time.Second)
		if s == 1800 {
			require.Len(t, count[records.CheckLiveness], 10)
			require.LessOrEqual(t, len(count[records.CheckInventory]), 8, "with evidence")
			p.Begin(planRound(19, 0, true), now)
			p.Begin(planRound(19, 0, true), now)
		}
		out, _ := p.Due(now, 100)
		for _, q := range out {
			take(q)
		}
	}
	member, watched := p.Duties()
	require.GreaterOrEqual(t, len(count[records.CheckInventory]), member)
	require.Len(t, count[records.CheckLiveness], watched)
	for _, kind := range []records.CheckKind{records.CheckInventory, records.CheckWork, records.CheckEvidence} {
		for _, n := range count[kind] {
			require.Equal(t, 1, n)
		}
	}
}

// A keeper that has room for half of what is due asks everybody about half as often, nobody much later than planned.
func TestBackpressureIsFair(t *testing.T) {
	begin := time.Unix(500*planSecs, 0)
	p := NewPlanner(Timing{Every: time.Minute}, planSecs)
	const nodes = 600 // ten a second
	p.Sync(planNodes(nodes, never), begin)
	p.Begin(planRound(5, 0, true), begin)
	n := map[solana.PublicKey]int{}
	skipped := play(p, begin, 5, func(now time.Time, q Check) {
		require.LessOrEqual(t, now.Sub(q.Due), 31*time.Second, "skipped rather than late")
		n[q.Node]++
	})
	require.Greater(t, skipped, 3000)
	least, most := 1<<30, 0
	require.Len(t, n, nodes)
	for _, times := range n {
		least, most = min(least, times), max(most, times)
	}
	require.Greater(t, least, 12, "of about 28")
	require.Less(t, most, 45)
}

// A failed check that a member signed is looked into once by everybody else, at once.
func TestAnAccusationIsLookedInto(t *testing.T) {
	begin := time.Unix(500*planSecs, 0)
	r := planRound(19, 0, true)
	nodes := planNodes(50, never)
	for _, n := range nodes {
		seats := r.Roster.Draw(nil, n.Node)
		member, outsider := seats[0], 0
		for slices.Contains(seats, outsider) {
			outsider++
		}
		other := -1 // another one that does not sit
		for i := range 19 {
			if !slices.Contains(seats, r.Roster.Index(keyOf(i))) {
				other = i
			}
		}
		require.GreaterOrEqual(t, other, 0)
		p := NewPlanner(publicTiming(), planSecs)
		p.Sync(nodes, begin)
		round := r
		round.Self = keyOf(other)
		p.Begin(round, begin)
		now := begin.Add(time.Minute)
		peer := func(i int) solana.PublicKey { return r.Roster.Key(i) }
		s := records.CheckStatement{Node: n.Node, Period: 500, Kind: records.CheckInventory}
		require.False(t, p.PeerFailure(peer(outsider), s, now), "not one of its committee")
		require.True(t, p.PeerFailure(peer(member), s, now))
		require.False(t, p.PeerFailure(peer(seats[1]), s, now), "once")
		passed := s
		passed.Passed = true
		require.False(t, p.PeerFailure(peer(member), passed, now))
		late := s
		late.Period--
		require.False(t, p.PeerFailure(peer(member), late, now))
		kinds := map[records.CheckKind]int{}
		for q := range 60 {
			out, _ := p.Due(now.Add(time.Duration(q)*time.Second), 1000)
			for _, c := range out {
				if c.Node == n.Node {
					require.True(t, c.Point)
					kinds[c.Kind]++
				}
			}
		}
		require.Equal(t, map[records.CheckKind]int{records.CheckLiveness: 1, records.CheckInventory: 1}, kinds)
	}
}

// A keeper that fails everybody costs the others no more than its credit, however long it goes on; one that is right is
// followed through an outage of everything.
func TestCreditBoundsALiar(t *testing.T) {
	const nodes = 1500
	watched := planNodes(nodes, func(int) bool { return true })
	for name, dead := range map[string]bool{"a dishonest keeper": false, "an outage": true} {
		t.Run(name, func(t *testing.T) {
			begin := time.Unix(500*planSecs, 0)
			p := NewPlanner(publicTiming(), planSecs)
			p.Sync(watched, begin)
			looked := 0
			for period := range records.Period(4) {
				r := planRound(19, 0, true)
				r.Period += period
				now := begin.Add(time.Duration(period) * planSecs * time.Second)
				p.Begin(r, now)
				for range 12 { // it says so again and again
					for _, n := range watched {
						if p.PeerFailure(keyOf(1), records.CheckStatement{Node: n.Node, Period: r.Period, Kind: records.CheckLiveness}, now) {
							looked++
							p.Result(n.Node, records.CheckLiveness, !dead, now)
						}
					}
				}
			}
			start := creditStart + nodes/100
			if dead {
				require.Equal(t, 4*nodes, looked)
			} else {
				require.LessOrEqual(t, looked, start+4*start/2)
			}
		})
	}
}

// Whatever happens, a plan gives out no check before it is due, nor of a node that is gone, nor more than there is
// room.
func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(500*planSecs, 0)
		p := NewPlanner(publicTiming(), planSecs)
		all := planNodes(12, never)
		keepers := rapid.IntRange(1, 12).Draw(t, "keepers")
		known := map[solana.PublicKey]bool{}
		r := planRound(keepers, 0, true)
		if rapid.Bool().Draw(t, "begins first") {
			p.Begin(r, now)
		}
		t.Repeat(map[string]func(*rapid.T){
			"sync": func(t *rapid.T) {
				clear(known)
				var some []Watched
				for _, n := range all {
					if rapid.Bool().Draw(t, "there") {
						n.Leased = rapid.Bool().Draw(t, "leased")
						some = append(some, n)
						known[n.Node] = true
					}
				}
				p.Sync(some, now)
			},
			"begin": func(t *rapid.T) {
				r = planRound(keepers, 0, rapid.Bool().Draw(t, "drawn"))
				r.Period = records.Period(now.Unix() / planSecs)
				p.Begin(r, now)
			},
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "seconds")) * time.Second)
				room := rapid.IntRange(0, 10).Draw(t, "room")
				out, _ := p.Due(now, room)
				require.LessOrEqual(t, len(out), room)
				for _, q := range out {
					require.True(t, known[q.Node])
					require.False(t, q.Due.After(now))
				}
			},
			"result": func(t *rapid.T) {
				n := all[rapid.IntRange(0, 11).Draw(t, "node")]
				p.Result(n.Node, records.CheckLiveness, rapid.Bool().Draw(t, "passed"), now)
			},
			"failed check of a peer": func(t *rapid.T) {
				n := all[rapid.IntRange(0, 11).Draw(t, "node")]
				kind := records.CheckKind(rapid.IntRange(1, 6).Draw(t, "kind"))
				p.PeerFailure(keyOf(rapid.IntRange(0, 14).Draw(t, "by")), records.CheckStatement{Node: n.Node, Period: r.Period, Kind: kind}, now)
			},
		})
	})
}

// A tick of the plan of 40,000 nodes, half of them leased, for one of 19 keepers.
func BenchmarkPlannerTick(b *testing.B) {
	begin := time.Unix(500*planSecs, 0)
	p := NewPlanner(publicTiming(), planSecs)
	p.Sync(planNodes(40_000, func(i int) bool { return i%2 == 0 }), begin)
	p.Begin(planRound(19, 0, true), begin)
	now, checks := begin, 0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		out, _ := p.Due(now, 10_000)
		checks += len(out)
	}
	b.ReportMetric(float64(checks)/float64(b.N), "checks/s")
}

// The start of a period: 40,000 committees of 19 keepers.
func BenchmarkPlannerBegin(b *testing.B) {
	begin := time.Unix(500*planSecs, 0)
	p := NewPlanner(publicTiming(), planSecs)
	p.Sync(planNodes(40_000, func(i int) bool { return i%2 == 0 }), begin)
	r := planRound(19, 0, true)
	for b.Loop() {
		r.Period++
		p.Begin(r, begin)
	}
}
