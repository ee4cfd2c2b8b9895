package bench

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/device"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

// simulated are two simulated GPUs, each of which becomes what the last argument makes of it.
func simulated(t *testing.T, becomes func(measure.Device) measure.Device) Options {
	devices := device.New([]string{"SIM-1", "SIM-2"}, true)
	for i, d := range devices {
		devices[i] = becomes(d)
	}
	return Options{Devices: devices, Simulated: true, DiskPath: t.TempDir(), DiskBytes: 2 << 20}
}

func honest(d measure.Device) measure.Device { return d }

func TestEachGPUIsMeasured(t *testing.T) {
	o := simulated(t, honest)
	var steps []string
	last := -1.0
	o.Progress = func(s string, done float64) {
		steps = append(steps, s)
		require.Greater(t, done, last)
		last = done
	}
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, BySimulation, r.By)
	require.Contains(t, r.By, "SIMULATED")
	require.Len(t, r.GPUs, 2)
	for _, g := range r.GPUs {
		require.EqualValues(t, class.Profile.Memory()>>20, g.MemoryMiB)
	}
	require.True(t, r.Complete())
	require.True(t, r.Disk.Measured)
	require.Equal(t, "done", steps[len(steps)-1])
	require.InDelta(t, 1, last, 0)

	raw, err := json.Marshal(r)
	require.NoError(t, err)
	var again Result
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, r, again)
}

// What keepers find slow is slow here: the figures are those of the device, whatever the machine could do. A slow one makes
// as few rounds as it may in eight times the time.
func TestASlowGPUIsSlowHereToo(t *testing.T) {
	r, err := Run(t.Context(), simulated(t, func(d measure.Device) measure.Device { return processor.Slow{Device: d, Factor: 8} }))
	if errors.Is(err, ErrFigures) {
		return // less than 10⁹ operations a second, which are none: so slow with the race detector
	}
	require.NoError(t, err)
	p := class.Profile
	rounds := 2 * float64(p.Resident) * float64(p.Rows) * float64(p.Order) * float64(p.Order)
	require.LessOrEqual(t, float64(r.Weakest().Operations), 1.05*rounds/(8*float64(p.ChainMs)/1000)/1e9)
}

func TestAMachineThatComputesWronglyIsNotBenchmarked(t *testing.T) {
	_, err := Run(t.Context(), simulated(t, func(measure.Device) measure.Device { return processor.Faulty{} }))
	var wrong *measure.WrongCell
	require.ErrorAs(t, err, &wrong)
}

func TestWithoutAGPUTheProcessorIsMeasured(t *testing.T) {
	r, err := Run(t.Context(), Options{})
	require.NoError(t, err)
	require.Equal(t, ByProcessor, r.By)
	require.Len(t, r.GPUs, 1)
	require.False(t, r.Disk.Measured)
	require.NotEmpty(t, r.Disk.Note)
}

func TestWeakest(t *testing.T) {
	require.Zero(t, Result{}.Weakest())
	r := Result{GPUs: []GPU{{5, 80, 9}, {7, 60, 9}}}
	require.Equal(t, GPU{5, 60, 9}, r.Weakest())
	require.False(t, r.Complete(), "it has no time")
}

func TestBenchmarksThatEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, simulated(t, honest))
	require.ErrorIs(t, err, context.Canceled)
	d, err := processor.New(1)
	require.NoError(t, err)
	r, err := Run(t.Context(), Options{Devices: []measure.Device{d}, DiskPath: "/no/such/dir", DiskBytes: 1})
	require.NoError(t, err)
	require.Equal(t, ByGPUs, r.By)
	require.Contains(t, r.Disk.Note, "not measured")
}
