package report

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/scale"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// large is a market of BenchmarkLarge.
type large struct{ nodes, keepers int }

// BenchmarkLarge counts the sets of large markets and makes their report, on one core. Sets are made and counted one after the other, as
// they come in: cpu-ms/set, MB/set and MB/sets, which a keeper receives. MiB-counted is what the counts hold, MiB-report the
// leaves and their tree besides.
func BenchmarkLarge(b *testing.B) {
	scale.Bench(b)
	for _, x := range []large{{40_000, 100}, {200_000, 100}, {666_667, 19}, {1_000_000, 19}} {
		b.Run(fmt.Sprintf("nodes=%d/keepers=%d", x.nodes, x.keepers), func(b *testing.B) { benchLarge(b, x) })
	}
}

func benchLarge(b *testing.B, x large) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	frame := statement.Frame{Domain: domain, Period: benchPeriod, Secs: benchSecs}
	basis := Basis{Weights: Weights{}}
	for k := range x.keepers {
		basis.Weights[benchKey("keeper", k)] = 1000
	}
	basis.Roster = committee.NewRoster(committee.Seed{1}, basis.Weights)
	sits := make([][committee.Size]int16, x.nodes)
	for n := range sits {
		for i, k := range basis.Roster.Draw(nil, benchKey("node", n)) {
			sits[n][i] = int16(k)
		}
	}
	runtime.GC()
	empty := heap()
	tally := NewTally(frame)
	var all []records.CheckStatement
	var bytes, counting float64
	for k := range x.keepers {
		all = all[:0]
		for n := range x.nodes {
			member := false
			for _, s := range sits[n] {
				member = member || int(s) == k
			}
			all = appendStated(all, n, k, member)
		}
		raw, count := statement.EncodeSet(frame, all)
		require.Len(b, all, count)
		bytes += float64(len(raw))
		began := cpu(b)
		ref, err := tally.Add(basis.Roster.Key(k), raw)
		require.NoError(b, err)
		counting += float64((cpu(b) - began).Microseconds()) / 1000
		basis.Sets = append(basis.Sets, ref)
	}
	all = nil
	began := cpu(b)
	tally.Prepare(basis.Roster)
	drawing := float64((cpu(b) - began).Microseconds()) / 1000
	counted := heap() - empty
	var set *Set
	took, began := 0, cpu(b)
	for b.Loop() {
		leaves, err := tally.Build(basis)
		require.NoError(b, err)
		set, err = NewSet(leaves)
		require.NoError(b, err)
		took++
	}
	b.ReportMetric(float64((cpu(b)-began).Milliseconds())/float64(took), "cpu-ms/report")
	b.ReportMetric(float64(len(set.Leaves)), "leaves")
	b.ReportMetric((float64(heap())-float64(empty)-float64(counted))/(1<<20), "MiB-report")
	b.ReportMetric(float64(counted)/(1<<20), "MiB-counted")
	b.ReportMetric(counting/float64(x.keepers), "cpu-ms/set")
	b.ReportMetric(drawing, "cpu-ms/draw")
	b.ReportMetric(bytes/float64(x.keepers)/1e6, "MB/set")
	b.ReportMetric(bytes/1e6, "MB/sets")
	runtime.KeepAlive(sits)
	runtime.KeepAlive(tally)
}
