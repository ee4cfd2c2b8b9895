package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	format "github.com/gantry-market/gantry/attest/measure"
	cpu "github.com/gantry-market/gantry/attest/measure/processor"
)

// Simulated machines never touch a GPU, and each GPU of a real one is measured by itself.
func TestMeasuredDevices(t *testing.T) {
	one, err := cpu.New(1)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		cfg       config.Config
		simulated bool
		want      format.Device
	}{
		"simulated": {simulated: true, want: one},
		"slow":      {cfg: config.Config{SlowFactor: 3}, want: cpu.Slow{Device: one, Factor: 3}},
		"wrong":     {cfg: config.Config{WrongWork: true}, simulated: true, want: cpu.Faulty{}},
	} {
		got, err := measuredDevices(c.cfg, c.simulated, []string{"SIM-1", "SIM-2"})
		require.NoError(t, err)
		require.Equal(t, []format.Device{c.want, c.want}, got, name)
	}
	got, err := measuredDevices(config.Config{}, false, []string{"GPU-1", "GPU-2"})
	require.NoError(t, err)
	for i, uuid := range []string{"GPU-1", "GPU-2"} {
		require.Equal(t, uuid, got[i].(*gpuDevice).uuid)
	}
}

// countedGPU makes nothing, and counts how often it is given back.
type countedGPU struct {
	runs, closed int
}

func (c *countedGPU) Run(context.Context, format.Task, func(uint32, format.Hash)) (format.Run, error) {
	c.runs++
	return nil, nil
}

func (c *countedGPU) Close() error { c.closed++; return nil }

// A GPU is opened at its first measurement, tried again at the next one where that failed, and given back once.
func TestAGPUStaysOpen(t *testing.T) {
	broken, opened := errors.New("out of memory"), 0
	fake, fails := &countedGPU{}, true
	g := &gpuDevice{uuid: "GPU-7", open: func(_ context.Context, uuid string) (openedGPU, error) {
		require.Equal(t, "GPU-7", uuid)
		opened++
		if fails {
			return nil, broken
		}
		return fake, nil
	}}
	a := &Agent{measured: []format.Device{g}}
	_, err := g.Run(t.Context(), format.Task{}, nil)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "GPU-7")
	fails = false
	for range 2 {
		_, err := g.Run(t.Context(), format.Task{}, nil)
		require.NoError(t, err)
	}
	require.Equal(t, 2, opened)
	require.Equal(t, 2, fake.runs)
	a.close()
	a.close()
	require.Equal(t, 1, fake.closed)
	_, err = g.Run(t.Context(), format.Task{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestUUIDsOfCUDAAndNVML(t *testing.T) {
	var b [16]byte
	_, err := hex.Decode(b[:], []byte("5cc1ab1f8a3d4f7e9b0011223344ffee"))
	require.NoError(t, err)
	require.True(t, sameUUID("GPU-5cc1ab1f-8a3d-4f7e-9b00-11223344ffee", b))
	require.True(t, sameUUID("GPU-5CC1AB1F-8A3D-4F7E-9B00-11223344FFEE", b))
	require.False(t, sameUUID("GPU-5cc1ab1f-8a3d-4f7e-9b00-11223344ffef", b))
	require.False(t, sameUUID("", b))
}
