//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/cuda"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

// hardware opens the GPU of this machine.
func hardware(t *testing.T, o cuda.Options) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(t.Context(), o)
	if errors.Is(err, attest.ErrAbsent) {
		t.Skipf("no GPU to measure: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	t.Logf("%s, compute capability %d, driver %d, %s", d.Info.Name, d.Info.Capability, d.Info.Driver, d.Method())
	return d
}

// On a machine with a GPU: its rounds are those of the processor, with cuBLASLt and without, and members find its answers
// right.
func TestThisGPUComputesWhatProcessorsCompute(t *testing.T) {
	for _, blas := range []string{"", "none"} {
		d := hardware(t, cuda.Options{BLAS: blas})
		for _, fold := range []uint8{2, 4} {
			p := measure.Profile{Order: 1024, Fold: fold, Rows: 1024, ChainMs: 300, Resident: 4, WalkMs: 300, Lanes: 512}
			m := measureOn(t, d, p)
			for challenge := range byte(3) {
				require.NoError(t, m.verify(t, challenge))
			}
			cpu, err := processor.New(0)
			require.NoError(t, err)
			// The same task with no time: the processor ends with the last of the rounds that stay resident.
			task := m.task
			task.Profile.ChainMs, task.Profile.WalkMs = 0, 0
			run, err := cpu.Run(t.Context(), task, func(round uint32, root measure.Hash) {
				require.Equal(t, root, m.seen[round], "round %d, fold %d, %s", round, fold, d.Method())
			})
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(run.Result().Roots), int(p.Resident))
			require.NoError(t, run.Close())
			require.NoError(t, m.run.Close())
		}
	}
}

// On a machine with a GPU and GANTRY_MEASURE=ROWS, the rows of its class's rounds: rates at n = 8192 with several stripes, then
// a whole run with 90 % of the memory, of which members draw. It asserts no rate.
func TestThisGPUsRates(t *testing.T) {
	text := os.Getenv("GANTRY_MEASURE")
	if text == "" {
		t.Skip("takes about a minute: set GANTRY_MEASURE to the rows of the class's rounds (262144 for H100 and H200)")
	}
	rows, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err)
	p := measure.Profile{Order: 8192, Fold: 4, Rows: uint32(rows), ChainMs: 3000, Resident: 1, WalkMs: 100, Lanes: 1 << 17}
	best, stripe := 0.0, uint64(0)
	for size := uint64(8 << 20); size <= 512<<20; size *= 2 {
		m := measureOn(t, hardware(t, cuda.Options{StripeBytes: size}), p)
		rate := operations(p, m.run.Result())
		t.Logf("stripes of %d MiB: %.1f · 10¹² operations a second", size>>20, rate)
		if rate > best {
			best, stripe = rate, size
		}
		require.NoError(t, m.run.Close())
	}

	d := hardware(t, cuda.Options{StripeBytes: stripe})
	p.ChainMs, p.WalkMs, p.Resident = 15000, 1500, uint32(d.Info.Memory*9/10/p.SlotBytes())
	require.NoError(t, p.Validate(), "fewer rows than %d leave room for a round", rows)
	m := measureOn(t, d, p)
	r := m.run.Result()
	walked := float64(p.Lanes) * float64(r.Walks) * measure.WalkSteps * measure.ItemBytes / r.Walk.Seconds()
	t.Logf("%d rounds of %v, %.1f · 10¹² operations a second; %d slots, %.1f GiB; %d walks a lane, %.0f GB/s", len(r.Roots),
		r.Chain/time.Duration(len(r.Roots)), operations(p, r), p.Resident, float64(p.Memory())/(1<<30), r.Walks, walked/1e9)
	for challenge := range byte(3) {
		start := time.Now()
		require.NoError(t, m.verify(t, challenge))
		t.Logf("an answer and its check took %v", time.Since(start))
	}
	require.NoError(t, m.run.Close())
}

// operations is the rate of a run's chain in 10¹² a second.
func operations(p measure.Profile, r measure.Result) float64 {
	n := float64(p.Order)
	return 2 * float64(p.Rows) * n * n * float64(len(r.Roots)) / r.Chain.Seconds() / 1e12
}
