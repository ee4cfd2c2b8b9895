//go:build linux && !race

package match_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

const benchOrders = 2_000

// processor is the processor time that this thread has used: on a machine with other work the wall clock measures that.
func processor(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// timed runs f for one order after the other and reports the median and the 99th percentile of a match, and orders a
// second on one core, all in processor time of the searching thread. ns/op is by the wall clock.
func timed(b *testing.B, orders []match.Query, f func(q match.Query) int) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([]time.Duration, 0, 1<<20)
	found, i := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		q := orders[i%len(orders)]
		begin := processor(b)
		n := f(q)
		took = append(took, processor(b)-begin)
		if n == q.Nodes {
			found++
		}
		i++
	}
	report(b, took)
	b.ReportMetric(100*float64(found)/float64(len(took)), "%found")
}

// report shows the figures of processor times.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(float64(len(took))/sum.Seconds(), "orders/s")
}

// BenchmarkBestOf40000 finds nodes for the same orders with the index, with a scan and with SQLite. All three must
// agree before they are timed.
func BenchmarkBestOf40000(b *testing.B) {
	w := drawMarket(42, today, benchOrders)
	w.removeGuarantees()
	m := w.matcher()
	m.Best(w.orders[0], start)
	answers := w.sqlite(b, w.orders[:100], 0).Answers
	for i, q := range w.orders[:100] {
		want := m.Best(q, start)
		for name, got := range map[string][]uint64{"scan": w.leanScan(q), "SQLite": answers[i]} {
			if !slices.Equal(got, scores(want)) {
				b.Fatalf("%s finds %v, the index %v", name, got, scores(want))
			}
		}
	}
	b.Run("index", func(b *testing.B) {
		timed(b, w.orders, func(q match.Query) int { return len(m.Best(q, start)) })
	})
	b.Run("scan", func(b *testing.B) {
		timed(b, w.orders, func(q match.Query) int { return len(w.leanScan(q)) })
	})
	b.Run("sqlite", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() { // once: it asks for a second at least
			took = append(took, w.sqlite(b, w.orders, time.Second).Took...)
		}
		report(b, took)
	})
}

// BenchmarkOrdersWithUpdates is a market at work: each order found takes its GPUs and its provider's stake, some other
// node gives its own back or changes its ask, and a second passes with every tenth order.
func BenchmarkOrdersWithUpdates(b *testing.B) {
	w := drawMarket(43, today, benchOrders)
	m := w.matcher()
	m.Best(w.orders[0], start)
	rng := rand.New(rand.NewPCG(1, 2))
	change := func(n *market.Node, mask uint16) {
		c := *n
		c.GpuMask = mask
		m.RemoveNode(c.Address)
		m.PutNode(c.Address, &c)
		w.nodes[c.Address] = &c
	}
	i := 0
	timed(b, w.orders, func(q match.Query) int {
		got := m.Best(q, start+int64(i/10))
		i++
		if len(got) < q.Nodes {
			return len(got)
		}
		for _, c := range got {
			free := ^c.Node.GpuMask & 0xff
			for range q.GPUs {
				free &= free - 1
			}
			change(w.nodes[c.Node.Address], ^free&0xff)
			p := *w.providers[c.Node.Provider]
			p.LockedStake++
			m.RemoveProvider(p.Address)
			m.PutProvider(p.Address, &p)
			w.providers[p.Address] = &p
			change(w.nodes[wideKey(1, rng.IntN(w.size.nodes))], 0)
		}
		return len(got)
	})
}

// BenchmarkLoad fills an empty matcher with 40,000 nodes, up to the first answer: a keeper's restart.
func BenchmarkLoad(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := drawMarket(44, today, 1)
	b.ReportAllocs()
	begin, loops := processor(b), 0
	for b.Loop() {
		w.matcher().Best(w.orders[0], start)
		loops++
	}
	b.ReportMetric(float64((processor(b)-begin).Milliseconds())/float64(loops), "processor-ms")
}

// BenchmarkTies is the worst that the order of preference allows: all nodes of a class ask and are worth the same, so
// that each is hashed with the order.
func BenchmarkTies(b *testing.B) {
	w := drawMarket(45, today, benchOrders)
	m := match.New()
	for id, v := range w.models {
		m.PutModel(id, v)
	}
	for k, v := range w.providers {
		m.PutProvider(k, v)
	}
	for k, n := range w.nodes {
		c := *n
		c.Price = uint64(200_000 * int(n.Spec.Model))
		c.UptimeBps, c.FeesFailed, c.RatingWeight, c.UpSecs = 10_000, 0, 0, 500*86_400
		m.PutNode(k, &c)
	}
	m.Best(w.orders[0], start)
	timed(b, w.orders, func(q match.Query) int { return len(m.Best(q, start)) })
}

func scores(cs []market.Candidate) []uint64 {
	out := make([]uint64, len(cs))
	for i, c := range cs {
		out[i] = c.Score
	}
	return out
}

// leanScan is a linear scan at its best: one pass over a slice, no map, no sorting of what is not wanted. Ties are left
// open.
func (w *drawnMarket) leanScan(q match.Query) []uint64 {
	o := &market.Order{}
	o.Status, o.AwardDeadline, o.Requirement, o.GpusPerNode, o.MaxPrice = uint8(market.OrderOpen), start, q.Requirement, q.GPUs, q.MaxPrice
	mk := &market.Market{}
	type key struct {
		score uint64
		less  uint16 // BPS minus reputation
	}
	bySite := map[[16]byte][]key{}
	var all []key
	add := func(best []key, k key) []key {
		if len(best) == q.Nodes {
			if last := best[len(best)-1]; k.score > last.score || k.score == last.score && k.less >= last.less {
				return best
			}
			best = best[:len(best)-1]
		}
		at, _ := slices.BinarySearchFunc(best, k, func(a, b key) int {
			if a.score != b.score {
				if a.score < b.score {
					return -1
				}
				return 1
			}
			return int(a.less) - int(b.less)
		})
		return slices.Insert(best, at, k)
	}
	for _, n := range w.nodeList {
		if market.Awardable(mk, o, n, w.providers[n.Provider], w.models[n.Spec.Model], start) != nil {
			continue
		}
		rep := n.Reputation(start)
		score, err := n.Score(start, max(q.End, start))
		if err != nil {
			continue
		}
		k := key{score, market.BPS - rep}
		if q.Requirement.SameSite != 0 {
			bySite[n.Spec.Site] = add(bySite[n.Spec.Site], k)
		} else {
			all = add(all, k)
		}
	}
	least := ^uint64(0)
	for _, ks := range bySite {
		sum := uint64(0)
		for _, k := range ks {
			sum += k.score
		}
		if len(ks) == q.Nodes && sum < least {
			least, all = sum, ks
		}
	}
	out := make([]uint64, len(all))
	for i, k := range all {
		out[i] = k.score
	}
	return out
}
