package measure

import (
	"context"
	"crypto/ed25519"
	"errors"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// worst is the profile whose answers take a verifier the longest, with as many rounds and walks as there may be.
var worst = struct {
	p      Profile
	rounds int
	walks  uint32
}{Profile{Order: MaxOrder, Fold: 2, Rows: MaxRows, ChainMs: 15000, Resident: 1, WalkMs: 1500, Lanes: MaxLanes}, MaxRounds, MaxWalks}

// worstInput is everything that a member reads of one GPU, of which only the last step of the last walk is wrong: nothing
// that ends a check sooner costs more. all does the work on it.
type worstInput struct {
	h      honest
	signed Signed
	key    [32]byte
	answer []byte
}

func newWorst(tb testing.TB) worstInput {
	tb.Helper()
	w := worstInput{h: newHonestOf(tb, worst.p, worst.rounds, worst.walks)}
	key := ed25519.NewKeyFromSeed(slices.Repeat([]byte{7}, 32))
	w.key = [32]byte(key.Public().(ed25519.PublicKey))
	c := Commit(Place{}, []Entry{w.h.v.entry})
	w.signed = Signed{Commitment: c.Bytes(), Signature: ed25519.Sign(key, c.Bytes()), Entries: []Entry{w.h.v.entry}}
	w.answer = make([]byte, AnswerBytes(worst.p, worst.walks, w.h.draw))
	return w
}

// all makes every step of a check: signature, roots, columns, reading, paths, cells and steps of walks.
func (w worstInput) all(tb testing.TB) {
	tb.Helper()
	e, roots := w.h.v.entry, w.h.v.roots
	if _, err := w.signed.Check(Place{}, w.key, []Asked{{Profile: worst.p}}); err != nil {
		tb.Fatal(err)
	}
	if err := CheckRoots(e, roots, nil); err != nil {
		tb.Fatal(err)
	}
	task := w.h.v.task
	v, err := NewVerifier(task, NewColumns(task.Columns, worst.p.Order), e, roots)
	if err != nil {
		tb.Fatal(err)
	}
	r := reader(w.answer)
	v.read(&r, w.h.draw)
	for _, l := range w.h.leaves {
		Climb(LeafHash(&l.Bytes), l.Leaf, l.Path)
	}
	for _, walk := range w.h.walks {
		_ = v.linked(walk)
		_ = v.linked(walk) // a walk that is not the first of its lane is linked to the one before
	}
	for o, l := range w.h.leaves {
		if err := v.cells(l, w.h.draw.Cells(o)); err != nil {
			tb.Fatal(err)
		}
	}
	for _, walk := range w.h.walks {
		if end, err := v.walk(context.Background(), walk); err != nil || end == walk.End {
			tb.Fatal("the walk of the worst input ends right", err)
		}
	}
}

// TestWorstInput: the input that costs a verifier the most takes little memory, keys of columns and the input included, and no
// more than the format allows is read at all.
func TestWorstInput(t *testing.T) {
	const most = 16 << 20
	w := newWorst(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.all(t)
	runtime.ReadMemStats(&after)
	took := after.TotalAlloc - before.TotalAlloc + uint64(len(w.answer)) + 32*uint64(worst.rounds)
	if took > most {
		t.Errorf("the worst input took %d KiB, at most %d are allowed", took>>10, most>>10)
	}
	t.Logf("the worst input took %d KiB, the answer of %d bytes and its roots included", took>>10, len(w.answer))
	for _, n := range []int{0, 1, len(w.answer) - 1, len(w.answer) + 1, 1 << 20} {
		if err := w.h.v.Verify(context.Background(), w.h.draw, make([]byte, n)); !errors.Is(err, ErrSize) {
			t.Errorf("an answer of %d bytes: %v", n, err)
		}
	}
	e := w.h.v.entry
	e.Rounds++
	if err := CheckRoots(e, append(slices.Clone(w.h.v.roots), Hash{}), nil); !errors.Is(err, ErrRoots) {
		t.Errorf("more rounds than there may be: %v", err)
	}
}

// BenchmarkWorstInput is the processor time of it.
func BenchmarkWorstInput(b *testing.B) {
	w := newWorst(b)
	began := processorMicros(b)
	for b.Loop() {
		w.all(b)
	}
	b.ReportMetric(float64(processorMicros(b)-began)/float64(b.N)/1000, "cpu-ms/op")
	b.ReportMetric(float64(len(w.answer)+32*worst.rounds), "input-B")
}

func processorMicros(tb testing.TB) int64 {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return (u.Utime.Nano() + u.Stime.Nano()) / 1000
}
