package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest/work"
)

// Options for Run.
type Options struct {
	// Prover does the work; nil means the processor.
	Prover work.Prover
	// Sizes are the orders of the products; empty means 256, 512, 1024.
	Sizes []int
	// Budget ends the work part: a size whose expected time does not fit into what is left is skipped, and the result
	// says so. 0 means 10 seconds.
	Budget time.Duration
	// DiskPath is measured unless DiskBytes is 0.
	DiskPath  string
	DiskBytes int64
	// Seed of the products; a fixed one makes runs comparable.
	Seed work.Seed
	// Progress is called when a step starts, with the share that is done; may be nil.
	Progress func(step string, done float64)
}

// Work is the measurement at one size.
type Work struct {
	N       int           `json:"n"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// GOPS is 10⁹ operations (2n³ in all) a second, commitment included.
	GOPS float64   `json:"gops"`
	Root work.Hash `json:"root"`
	// VerifyElapsed is what checking it took on this machine.
	VerifyElapsed time.Duration `json:"verify_elapsed_ns"`
	// Skipped says why there is no figure; empty if there is one.
	Skipped string `json:"skipped,omitempty"`
}

// Result of a benchmark.
type Result struct {
	Prover string         `json:"prover"`
	Work   []Work         `json:"work"`
	Disk   host.DiskSpeed `json:"disk"`
	At     time.Time      `json:"at"`
}

// Run measures. A product that does not verify is an error: a machine that computes wrong must not be registered.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Prover == nil {
		o.Prover = work.CPU{}
	}
	if len(o.Sizes) == 0 {
		o.Sizes = []int{256, 512, 1024}
	}
	if o.Budget <= 0 {
		o.Budget = 10 * time.Second
	}
	for _, n := range o.Sizes {
		if err := work.CheckOrder(n); err != nil {
			return Result{}, fmt.Errorf("bench: %w", err)
		}
	}
	report := func(step string, done float64) {
		if o.Progress != nil {
			o.Progress(step, done)
		}
	}
	r := Result{Prover: o.Prover.Name(), At: time.Now().UTC()}
	steps := float64(len(o.Sizes) + 1)
	end := time.Now().Add(o.Budget)
	rate := 0.0 // operations a second, from the last size
	for i, n := range o.Sizes {
		report(fmt.Sprintf("int8 product of order %d", n), float64(i)/steps)
		expected := time.Duration(0)
		if rate > 0 {
			expected = time.Duration(work.Ops(n) / rate * float64(time.Second))
		}
		if left := time.Until(end); expected > left {
			r.Work = append(r.Work, Work{N: n, Skipped: fmt.Sprintf("would take about %v, %v left", expected.Round(time.Millisecond), max(0, left).Round(time.Millisecond))})
			continue
		}
		w, err := measure(ctx, o, n)
		if err != nil {
			return Result{}, err
		}
		r.Work = append(r.Work, w)
		rate = w.GOPS * 1e9
	}
	report("disk", float64(len(o.Sizes))/steps)
	if o.DiskBytes > 0 {
		var err error
		if r.Disk, err = host.MeasureDisk(ctx, o.DiskPath, o.DiskBytes); err != nil {
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			r.Disk.Note = "not measured: " + err.Error()
		}
	} else {
		r.Disk.Note = "not measured: not asked for"
	}
	report("done", 1)
	return r, nil
}

func measure(ctx context.Context, o Options, n int) (Work, error) {
	start := time.Now()
	p, err := o.Prover.Prove(ctx, o.Seed, n)
	if err != nil {
		return Work{}, fmt.Errorf("bench: %w", err)
	}
	w := Work{N: n, Elapsed: time.Since(start), Root: p.Root}
	w.GOPS = work.GOPS(n, w.Elapsed)
	start = time.Now()
	if err := (work.Verifier{}).VerifyProof(ctx, p); err != nil {
		return Work{}, fmt.Errorf("bench: order %d: %w", n, err)
	}
	w.VerifyElapsed = time.Since(start)
	return w, nil
}

// Peak is the best throughput over all sizes, in 10⁹ operations a second.
func (r Result) Peak() float64 {
	best := 0.0
	for _, w := range r.Work {
		best = math.Max(best, w.GOPS)
	}
	return best
}
