package check

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// weather is how a line between a keeper and a node is.
type weather struct {
	name            string
	passed, unknown float64 // how likely a check is so
	restarts        int     // of the keeper, in the period
}

// said is how many statements a keeper signs about one node and its leases in a period, by the plan of its own checks.
func said(t *testing.T, secs uint32, timing Timing, leases int, w weather) (count int) {
	const period = 500
	begin := int64(period) * int64(secs)
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), begin, secs)
	b.o.Doubt = timing.Every
	b.restart(t)
	node := solana.PublicKey{1}
	for i := range leases {
		b.lease(func(l *market.Lease) {
			l.Address, l.StartedAt, l.FundedUntil = solana.PublicKey{7, byte(i + 1)}, begin-10, begin+int64(2*secs)
		})
	}
	r := rand.New(rand.NewPCG(1, uint64(secs)))
	plan := func(now time.Time) *Planner {
		p := NewPlanner(timing, secs)
		p.Sync([]Watched{{Node: node, Leased: leases > 0}}, now)
		round := planRound(3, 0, true)
		round.Period = period
		p.Begin(round, now)
		i := drawnIn(period)
		p.Instant(i, now)
		return p
	}
	const step = 250 * time.Millisecond
	p, next := plan(b.at), time.Duration(secs)*time.Second
	if w.restarts > 0 {
		next /= time.Duration(w.restarts + 1)
	}
	for into := time.Duration(0); into < time.Duration(secs)*time.Second; into += step {
		b.at = time.Unix(begin, 0).Add(into)
		if w.restarts > 0 && into/next != (into-step)/next && into > 0 {
			b.restart(t)
			p = plan(b.at)
		}
		due, _ := p.Due(b.at, 10)
		var all []Finding
		for _, q := range due {
			f := Finding{Node: node, Kind: q.Kind, Period: period, At: b.at, Interval: q.Interval, Passed: r.Float64() < w.passed}
			switch q.Kind {
			case records.CheckLiveness:
				if f.Unknown = r.Float64() < w.unknown; f.Unknown {
					f.Passed = false
				} else {
					p.Result(node, q.Kind, f.Passed, b.at)
				}
				if f.Liveness = (&messages.Liveness{}); f.Passed {
					for i := range leases {
						if r.Float64() < w.passed {
							f.Liveness.Leases = append(f.Liveness.Leases, messages.LeaseStatus{Lease: solana.PublicKey{7, byte(i + 1)}, State: messages.LeaseRunning})
						}
					}
				}
			case records.CheckInventory:
				health := f
				health.Kind = records.CheckHealth
				all = append(all, health)
			}
			all = append(all, f)
			if q.Kind != records.CheckLiveness && !f.Passed { // what follows tries that are not answered
				for range insistMost {
					all = append(all, Finding{Node: node, Kind: records.CheckLiveness, At: b.at})
				}
			}
		}
		require.NoError(t, b.recordInOrder(all))
	}
	b.at = time.Unix(begin+int64(secs), 0).Add(sealAfter)
	require.NoError(t, b.sealDue())
	seen := map[string]bool{}
	for _, s := range b.out {
		require.EqualValues(t, period, s.Period)
		seen[fmt.Sprint(s.Lease, s.Kind, s.CheckedAt)] = true
	}
	return len(seen)
}

// What an honest keeper says is held by the others: in fair weather, and while all machines seem down, in a market of any
// size; on lines that fail half of the checks all the time, and with a restart every few minutes, as long as
// machines and leases together are a thousand.
func TestWhatAnHonestKeeperSaysIsHeld(t *testing.T) {
	every := func(d time.Duration) Timing {
		return Timing{Every: d, Timeout: min(d, time.Second), EvidenceEvery: 1}
	}
	hour := publicTiming()
	hour.EvidenceEvery = 1
	for _, m := range []struct {
		secs   uint32
		timing Timing
	}{{3600, hour}, {60, every(15 * time.Second)}, {10, every(3 * time.Second)}, {5, every(1500 * time.Millisecond)}, {1, every(500 * time.Millisecond)}} {
		for _, w := range []weather{{"fair", 1, 0, 0}, {"down", 0, 0, 0}, {"half", 0.5, 0, 0}, {"half, and restarts", 0.5, 0.1, 10}, {"fair, and restarts", 1, 0, 10}} {
			for _, leases := range []int{0, 8} {
				each := said(t, m.secs, m.timing, leases, w)
				markets := []int{1, 30, 1_000 / (1 + leases)}
				if w.name == "fair" || w.name == "down" {
					markets = append(markets, 40_000)
				}
				for _, nodes := range markets {
					require.LessOrEqual(t, nodes*each, statement.MostOf(nodes, nodes*leases, m.secs),
						"%s: %d statements about each of %d nodes and its %d leases, in periods of %d s", w.name, each, nodes, leases, m.secs)
				}
			}
		}
	}
}
