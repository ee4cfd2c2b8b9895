package processor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// A slow machine's run is right, has the least number of rounds, and takes as long as it says: its roots come no earlier.
func TestSlow(t *testing.T) {
	p := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 100, Resident: 2, WalkMs: 10, Lanes: 4}
	device, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	task := measure.NewTask(measure.Place{Domain: [8]byte{1}}, 0, p)
	begun := time.Now()
	came := make([]time.Duration, 0, 2)
	run, err := Slow{device, 4}.Run(t.Context(), task, func(uint32, measure.Hash) { came = append(came, time.Since(begun)) })
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	defer run.Close() //nolint:errcheck // memory alone
	if len(came) != 2 || len(run.Result().Roots) != 2 || came[0] < 200*time.Millisecond || came[1] < 400*time.Millisecond {
		t.Fatalf("roots came after %v", came)
	}
	if took < came[1]+4*10*time.Millisecond {
		t.Fatalf("walks took %s", took-came[1])
	}
	plain, err := device.Run(t.Context(), task, func(uint32, measure.Hash) {})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close() //nolint:errcheck // memory alone
	for i, root := range run.Result().Roots {
		if root != plain.Result().Roots[i] {
			t.Fatalf("round %d is another", i)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (Slow{device, 1_000_000}).Run(ctx, task, func(uint32, measure.Hash) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a run that is ended goes on: %v", err)
	}
}

// waiting is a device whose walks wait long for a processor, as on a busy computer, and state the time that they had one.
type waiting struct{ measure.Device }

func (w waiting) Run(ctx context.Context, t measure.Task, ended func(uint32, measure.Hash)) (measure.Run, error) {
	run, err := w.Device.Run(ctx, t, ended)
	wait(ctx, time.Now().Add(time.Second))
	return run, err
}

// A slow machine is slow by its own clock: the time for which its walks wait for a processor is not multiplied. Otherwise a
// busy computer keeps such a machine from a measurement within a period, and nobody learns that it is slow.
func TestWaitingForAProcessorIsNotMultiplied(t *testing.T) {
	p := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 4}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := Slow{waiting{Simulated()}, 100}.Run(ctx, measure.NewTask(measure.Place{Domain: [8]byte{1}}, 0, p), func(uint32, measure.Hash) {})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close() //nolint:errcheck // memory alone
	if took, walk := time.Since(begun), run.Result().Walk; took > 30*time.Second {
		t.Fatalf("it took %s for walks of %s", took, walk)
	}
}
