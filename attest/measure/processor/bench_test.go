package processor

import (
	"context"
	"testing"

	"github.com/gantry-market/gantry/attest/measure"
)

// BenchmarkRound is a round of the processors' profile; MB/s are 10⁶ multiplications a second.
func BenchmarkRound(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(map[int]string{1: "one thread", 2: "two threads"}[threads], func(b *testing.B) {
			p := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 16}
			r := newRun(measure.Task{Profile: p}, &Device{threads: threads})
			r.columns = make([]int16, p.Order*p.Order)
			work := make([]scratch, threads)
			for i := range work {
				work[i] = scratch{rows: make([]int16, stripe*p.Order), entries: make([]int32, stripe*p.Order)}
			}
			b.SetBytes(int64(p.Rows) * int64(p.Order) * int64(p.Order))
			for b.Loop() {
				r.mixed = nil
				if _, err := r.round(context.Background(), 0, measure.Hash{}, work); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWalk is a batch of walks on 16 lanes over 16 MiB; MB/s are of memory.
func BenchmarkWalk(b *testing.B) {
	p := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 16, WalkMs: 1, Lanes: 16}
	r := newRun(measure.Task{Profile: p}, &Device{threads: 1})
	for i := range r.memory {
		r.memory[i] = byte(i * i >> 7)
	}
	lanes := make([]lane, p.Lanes)
	b.SetBytes(int64(p.Lanes) * measure.WalkSteps * measure.ItemBytes)
	for j := uint32(0); b.Loop(); j++ {
		r.step(lanes, 0, j)
	}
}
