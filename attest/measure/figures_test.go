package measure

import (
	"math"
	"testing"
	"time"
)

// TestStated: the times of a simulated GPU are those that its machine has signed, and at least the profile's.
func TestStated(t *testing.T) {
	p := Profile{Order: 1024, Fold: 4, Rows: 1024, Resident: 2, Lanes: 4, ChainMs: 250, WalkMs: 100}
	for _, c := range []struct {
		chain, walk     uint32
		ofChain, ofWalk float64 // seconds that count
	}{{500, 200, 0.5, 0.2}, {250, 100, 0.25, 0.1}, {1, 0, 0.25, 0.1}} {
		f := Stated(p, Entry{Rounds: 10, Walks: 8, ChainMs: c.chain, WalkMs: c.walk})
		if want := 10 * 2 * float64(1<<30) / c.ofChain; math.Abs(f.Operations-want) > 1 {
			t.Errorf("%d ms: %g operations a second, want %g", c.chain, f.Operations, want)
		}
		if want := 4.0 * 8 * WalkSteps * ItemBytes / c.ofWalk; math.Abs(f.Bandwidth-want) > 1 {
			t.Errorf("%d ms: %g bytes a second, want %g", c.walk, f.Bandwidth, want)
		}
	}
	if f := Stated(Profile{Order: 1024, Rows: 1024, Lanes: 1}, Entry{Rounds: 1, Walks: 1}); math.IsInf(f.Operations, 0) || math.IsInf(f.Bandwidth, 0) {
		t.Error("a profile without times divides by nothing")
	}
}

// TestFigures: what a member concludes from when roots came. One round a second is 2·1024·1024² operations a second.
func TestFigures(t *testing.T) {
	const round = 2 * 1 << 30
	p := Profile{Order: 1024, Fold: 4, Rows: 1024, Resident: 2, Lanes: 4}
	start := time.Unix(1_800_000_000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	steady := func(n int, each float64) []time.Time {
		var out []time.Time
		for r := range n {
			out = append(out, at(float64(r+1)*each))
		}
		return out
	}
	without := func(roots []time.Time, from, to int) []time.Time {
		for r := from; r < to; r++ {
			roots[r] = time.Time{}
		}
		return roots
	}
	for _, c := range []struct {
		name  string
		roots []time.Time
		want  float64 // rounds a second
	}{
		{"steady", steady(40, 1), 1},
		{"few rounds", steady(3, 1), 1},
		{"one round", steady(1, 2), 0.5},
		{"half as fast", steady(40, 2), 0.5},
		{"the first came late", append([]time.Time{at(3)}, steady(40, 1)[1:]...), 1},
		{"a root was lost", without(steady(40, 1), 5, 6), 1},
		{"an eighth of the roots came at once", without(steady(40, 1), 3, 8), 1},
		// Two cards: each makes half of the rounds in all of the time, the second from a root that was made up.
		{"the first of two chains is shown as it runs, the second at the end", append(steady(20, 2), steadyFrom(at(40), 20)...), 0.5},
		{"nothing is shown until the end", without(steady(40, 1), 0, 39), 1.0 / 40},
		{"it paused", append(steady(20, 1), after(steady(40, 1)[20:], 20*time.Second)...), 2.0 / 3},
		{"the last root did not come", steady(39, 1), 40.0 / 50},
	} {
		e := Entry{Rounds: uint32(len(c.roots)), Walks: 8}
		if c.name == "the last root did not come" {
			e.Rounds++
		}
		last := c.roots[len(c.roots)-1]
		f := Measured(p, e, Timing{Start: start, Roots: c.roots, Commitment: last.Add(11 * time.Second)})
		if got := f.Operations / round; math.Abs(got-c.want) > 0.001 {
			t.Errorf("%s: %.3f rounds a second, want %.3f", c.name, got, c.want)
		}
		if f.Memory != 2<<20 {
			t.Errorf("%s: %d bytes of memory", c.name, f.Memory)
		}
	}
	f := Measured(p, Entry{Rounds: 4, Walks: 8}, Timing{Start: start, Roots: steady(4, 1), Commitment: at(6)})
	if want := 4.0 * 8 * 64 * 128 / 2; f.Bandwidth != want {
		t.Errorf("bandwidth %f, want %f", f.Bandwidth, want)
	}
	f = Measured(p, Entry{Rounds: 1, Walks: 1}, Timing{Start: start, Roots: []time.Time{start}, Commitment: start})
	if f.Operations != 0 || f.Bandwidth != 0 {
		t.Errorf("no time: %+v", f)
	}
}

// TestShortRuns: who has a GPU for a second of a chain of fifteen has a fifteenth of its rate, and of its bandwidth what its walks
// are of the walks' time.
func TestShortRuns(t *testing.T) {
	p := Profile{Order: 1024, Fold: 4, Rows: 1024, Resident: 2, Lanes: 4, ChainMs: 15_000, WalkMs: 1_500}
	start := time.Unix(1_800_000_000, 0)
	roots := make([]time.Time, 20)
	for r := range roots {
		roots[r] = start.Add(time.Duration(r+1) * 50 * time.Millisecond)
	}
	e := Entry{Rounds: 20, Walks: 8}
	f := Measured(p, e, Timing{Start: start, Roots: roots, Commitment: roots[19].Add(10 * time.Millisecond)})
	if want := 20.0 * (2 << 30) / 15; math.Abs(f.Operations-want) > 1 {
		t.Errorf("%g operations a second, want %g", f.Operations, want)
	}
	if want := 4.0 * 8 * WalkSteps * ItemBytes / 1.5; math.Abs(f.Bandwidth-want) > 1 {
		t.Errorf("%g bytes a second, want %g", f.Bandwidth, want)
	}
}

func TestOverrun(t *testing.T) {
	p := Profile{Order: 1024, Fold: 4, Rows: 1024, Resident: 2, Lanes: 4, ChainMs: 1_000, WalkMs: 500}
	start := time.Unix(1_800_000_000, 0)
	roots := []time.Time{start.Add(700 * time.Millisecond), start.Add(1_400 * time.Millisecond)} // the first ends in time, one is begun
	for after, want := range map[time.Duration]time.Duration{
		1_900 * time.Millisecond: -300 * time.Millisecond, 2_200 * time.Millisecond: 0, 4_200 * time.Millisecond: 2 * time.Second,
	} {
		if got := (Timing{Start: start, Roots: roots, Commitment: start.Add(after)}).Overrun(p, Entry{Rounds: 2}); got != want {
			t.Errorf("%s: %s, want %s", after, got, want)
		}
	}
}

func steadyFrom(at time.Time, n int) []time.Time {
	out := make([]time.Time, n)
	for i := range out {
		out[i] = at
	}
	return out
}

func after(roots []time.Time, d time.Duration) []time.Time {
	for i := range roots {
		roots[i] = roots[i].Add(d)
	}
	return roots
}
