//go:build linux && !race

package match_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gantry-market/gantry/internal/testkit/scale"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

// changesEach is how many nodes change after each order.
const changesEach = 2

// change is what becomes of a node: another ask, and other GPUs that are busy.
type change struct {
	node  int
	price uint64
	mask  uint16
}

func (c change) of(n *market.Node) *market.Node {
	out := *n
	out.Price, out.GpuMask = c.price, c.mask
	return &out
}

// drawChanges draws changes for so many orders.
func (w *drawnMarket) drawChanges(orders int) (out []change) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range orders * changesEach {
		i := rng.IntN(w.size.nodes)
		price := uint64(200_000*int(w.nodeList[i].Spec.Model)) * uint64(800+rng.IntN(700)) / 1_000
		out = append(out, change{i, price, uint16(1<<rng.IntN(9) - 1)})
	}
	return out
}

// heap is what lives on the heap, MiB.
func heap() float64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc) / (1 << 20)
}

// BenchmarkMillion finds nodes among a million, while two nodes change after each order, with the index, with a scan and with SQLite. All
// three must agree on a hundred orders, changes included, before they are timed. The time of an order is that of its
// changes, too.
func BenchmarkMillion(b *testing.B) {
	scale.Bench(b)
	w := drawMarket(46, million, benchOrders)
	w.removeGuarantees()
	changes := w.drawChanges(benchOrders)
	done := w.sqliteChanging(b, w.orders, 0, changes)
	before := heap()
	m := w.matcher()
	m.Best(w.orders[0], start)
	held := heap() - before
	next := 0
	step := func(put func(n *market.Node, at int)) {
		for range changesEach {
			c := changes[next%len(changes)]
			put(c.of(w.nodeList[c.node]), c.node)
			next++
		}
	}
	index := func(n *market.Node, _ int) { m.PutNode(n.Address, n) }
	slice := func(n *market.Node, at int) { w.nodeList[at] = n }
	for i, q := range w.orders[:100] {
		want := scores(m.Best(q, start))
		for name, got := range map[string][]uint64{"scan": w.leanScan(q), "SQLite": done.Answers[i]} {
			if !slices.Equal(got, want) {
				b.Fatalf("order %d: %s finds %v, the index %v", i, name, got, want)
			}
		}
		step(func(n *market.Node, at int) {
			index(n, at)
			slice(n, at)
		})
	}
	b.Run("index", func(b *testing.B) {
		timed(b, w.orders, func(q match.Query) int {
			n := len(m.Best(q, start))
			step(index)
			return n
		})
		b.ReportMetric(held, "MiB-index")
	})
	b.Run("scan", func(b *testing.B) {
		timed(b, w.orders, func(q match.Query) int {
			n := len(w.leanScan(q))
			step(slice)
			return n
		})
	})
	b.Run("sqlite", func(b *testing.B) {
		for b.Loop() { // it was asked above
		}
		report(b, done.Took)
	})
}
