package measure

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// What a member of a committee does for one measurement, from the messages as they come to the figures.

// orders are profiles of the orders that GPUs have, with as few rows and lanes as they may have, so that a processor makes a run of
// them. Paths of a GPU's run are longer: attest/measure has benchmarks of them.
var orders = []struct {
	name string
	p    format.Profile
}{
	{"n=8192", format.Profile{Order: 8192, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 1 << 10}},
	{"n=16384", format.Profile{Order: 16384, Fold: 2, Rows: 1024, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 1 << 10}},
}

// tape is a line to a machine that answers what one has answered before, as bytes.
type tape struct {
	items  [][]byte
	answer []byte
	seen   *sync.WaitGroup // all who have everything but an answer wait for it, if not nil
}

func (t tape) Join(_ context.Context, item func(messages.MeasureItem) error) error {
	for _, b := range t.items {
		var m messages.MeasureItem
		if err := p2p.Decode(b, &m); err != nil {
			return err
		}
		if err := item(m); err != nil {
			return err
		}
	}
	return nil
}

func (t tape) Open(context.Context, uint8, [32]byte) (messages.MeasureOpening, error) {
	var m messages.MeasureOpening
	err := p2p.Decode(t.answer, &m)
	if t.seen != nil {
		t.seen.Done()
		t.seen.Wait()
	}
	return m, err
}

func (tape) Renew(context.Context) error { return nil }

func (t tape) bytes() (n int) {
	for _, b := range t.items {
		n += len(b)
	}
	return n + len(t.answer)
}

// zeros are challenges that are all the same, so that one answer is that to all.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

var _ io.Reader = zeros{}

// record has a processor make a run, and keeps what a member gets of it.
func record(tb testing.TB, p format.Profile) (Asked, tape) {
	tb.Helper()
	d, err := processor.New(0)
	require.NoError(tb, err)
	return recordOf(tb, d, p)
}

func recordOf(tb testing.TB, d format.Device, p format.Profile) (Asked, tape) {
	tb.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(tb, err)
	a := Asked{Place: format.Place{Domain: [8]byte{1}}, Key: key.PublicKey(), GPUs: []format.Asked{{Profile: p}}, Start: time.Now()}
	var t tape
	put := func(v any) []byte {
		b, err := p2p.Encode(v)
		require.NoError(tb, err)
		return b
	}
	run, err := d.Run(context.Background(), format.NewTask(a.Place, 0, p), func(r uint32, root format.Hash) {
		t.items = append(t.items, put(messages.MeasureItem{Roots: &messages.MeasureRoots{First: r, Roots: root[:]}}))
	})
	require.NoError(tb, err)
	defer func() { _ = run.Close() }()
	e := run.Result().Entry(0, p)
	b, c := e.Bytes(), format.Commit(a.Place, []format.Entry{e})
	signature, err := key.Sign(c.Bytes())
	require.NoError(tb, err)
	t.items = append(t.items, put(messages.MeasureItem{Commitment: &messages.MeasureCommitment{Commitment: c.Bytes(), Signature: signature, Entries: b[:]}}))
	answer, err := format.Answer(context.Background(), run, p, format.NewDraw([32]byte{}, 0, c))
	require.NoError(tb, err)
	opened, err := records.NewOpening(c.Bytes(), [32]byte{}, 0, 0, answer).Sign(key)
	require.NoError(tb, err)
	t.answer = put(messages.MeasureOpening{Answer: answer, Signature: opened})
	return a, t
}

// processorTime is what this process has computed so far.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (t tape) measures(tb testing.TB, k *Asker, a Asked) {
	a.Start = time.Now().Add(-time.Minute) // long ago for the figures, of which nothing is said here
	if r := k.Measure(context.Background(), a, t); r.Outcome != Measured {
		tb.Errorf("%s: %v", r.Outcome, r.Why)
	}
}

// BenchmarkCheck is one check of one GPU: processor time and bytes.
func BenchmarkCheck(b *testing.B) {
	for _, o := range orders {
		b.Run(o.name, func(b *testing.B) {
			a, t := record(b, o.p)
			k := New(Options{Rand: zeros{}, Slack: time.Hour})
			t.measures(b, k, a) // columns are made once a period
			began := processorTime(b)
			for b.Loop() {
				t.measures(b, k, a)
			}
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
			b.ReportMetric(float64(t.bytes()), "wire-B/op")
			b.ReportMetric(float64(len(t.items[0])), "root-B")
		})
	}
}

// BenchmarkMarket is a keeper at the instant of a period in a market of 40,000 nodes and 100 keepers, whose committees have
// seven members: 2,800 nodes answer at once. GANTRY_NODES names another number.
func BenchmarkMarket(b *testing.B) {
	const market, keepers, committee = 40_000, 100, 7
	nodes := market * committee / keepers
	if text := os.Getenv("GANTRY_NODES"); text != "" {
		var err error
		nodes, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	for _, o := range orders {
		b.Run(fmt.Sprintf("%s/nodes=%d", o.name, nodes), func(b *testing.B) {
			a, t := record(b, o.p)
			for b.Loop() {
				k := New(Options{Rand: zeros{}, Slack: time.Hour, Wait: time.Hour})
				runtime.GC()
				var before, full runtime.MemStats
				runtime.ReadMemStats(&before)
				began, at := processorTime(b), time.Now()
				var all, seen sync.WaitGroup
				seen.Add(nodes + 1)
				t.seen = &seen
				for range nodes {
					all.Go(func() { t.measures(b, k, a) })
				}
				seen.Done()
				seen.Wait() // every answer is here, none is verified
				runtime.GC()
				runtime.ReadMemStats(&full)
				all.Wait()
				b.ReportMetric((processorTime(b) - began).Seconds(), "cpu-s")
				b.ReportMetric(time.Since(at).Seconds(), "wall-s")
				b.ReportMetric(float64(full.HeapAlloc-min(before.HeapAlloc, full.HeapAlloc))/(1<<20), "heap-MiB")
				b.ReportMetric(float64(nodes*t.bytes())/(1<<20), "received-MiB")
			}
		})
	}
}
