// Package processor measures the processors of a machine with the same computation as GPUs: for machines without GPUs,
// and to prove the protocol where there is none.
package processor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// maxMemory bounds the kept bytes: a profile of GPUs would take the machine's memory.
const maxMemory = 1 << 30

// ErrClosed means that a run's memory was given back.
var ErrClosed = errors.New("processor: the run is closed")

// Device computes on a number of threads.
type Device struct {
	threads int
	// simulates says that it stands in for a GPU: its times are those for which its threads had a processor.
	simulates bool
}

var _ measure.Device = (*Device)(nil)

// New returns a device of a number of threads, all processors of the machine for 0.
func New(threads int) (*Device, error) {
	if threads < 0 {
		return nil, fmt.Errorf("processor: %d threads", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Device{threads: threads}, nil
}

// Simulated returns a device of one thread in place of a simulated GPU. Chain and walks take the profile's times of the
// thread's processor, and the run states those: other load on the computer makes it later, and not slower.
func Simulated() *Device { return &Device{threads: 1, simulates: true} }

// Run implements [measure.Device]. Besides the profile's memory it takes 2·n² bytes for B, and m·n/f for each round, which
// it keeps until the run is closed: computing rounds again for each member would take longer than the run.
func (d *Device) Run(ctx context.Context, t measure.Task, ended func(round uint32, root measure.Hash)) (measure.Run, error) {
	if err := t.Profile.Validate(); err != nil {
		return nil, fmt.Errorf("processor: %w", err)
	}
	if t.Profile.Memory() > maxMemory {
		return nil, fmt.Errorf("processor: the profile asks for %d MiB of memory, processors are measured with at most %d", t.Profile.Memory()>>20, maxMemory>>20)
	}
	r := newRun(t, d)
	if err := r.chain(ctx, ended); err != nil {
		return nil, fmt.Errorf("processor: chain: %w", err)
	}
	if err := r.walk(ctx); err != nil {
		return nil, fmt.Errorf("processor: walk: %w", err)
	}
	return r, nil
}

// run is one measurement.
type run struct {
	task    measure.Task
	device  *Device
	began   time.Time
	spent   atomic.Int64 // nanoseconds that threads had a processor, where the device simulates
	columns []int16      // B, column by column, while the chain runs
	memory  []byte       // the kept bytes, slot by slot
	mixed   [][]byte
	result  measure.Result
	seed    measure.Hash // of the walks
	lanes   []measure.Hash
}

func newRun(t measure.Task, d *Device) *run {
	return &run{task: t, device: d, began: time.Now(), memory: make([]byte, t.Profile.Memory())}
}

// Result implements [measure.Run].
func (r *run) Result() measure.Result { return r.result }

// Close implements [measure.Run]. Nothing may be opened meanwhile.
func (r *run) Close() error {
	r.memory, r.mixed = nil, nil
	return nil
}

// each calls f on all threads with the next of n numbers until there are none left or one fails.
func (r *run) each(ctx context.Context, n int, f func(worker, i int) error) error {
	return r.parallel(ctx, min(r.device.threads, n), n, f)
}

// elapsed is the time that the run has taken, by the device's clock.
func (r *run) elapsed() time.Duration {
	if r.device.simulates {
		return time.Duration(r.spent.Load()) / time.Duration(r.device.threads)
	}
	return time.Since(r.began)
}

// since reports whether so many milliseconds have passed since an earlier elapsed.
func (r *run) since(start time.Duration, ms uint32) bool {
	return r.elapsed()-start >= time.Duration(ms)*time.Millisecond
}
