package device

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

// Simulated machines never touch a GPU, and each GPU of a real one is measured by itself.
func TestDevices(t *testing.T) {
	require.Equal(t, []measure.Device{processor.Simulated(), processor.Simulated()}, New([]string{"SIM-1", "SIM-2"}, true))
	got := New([]string{"GPU-1", "GPU-2"}, false)
	for i, uuid := range []string{"GPU-1", "GPU-2"} {
		require.Equal(t, uuid, got[i].(*GPU).uuid)
	}
	require.NoError(t, Close(got), "none was opened")
}

// countedGPU makes nothing, and counts how often it is given back.
type countedGPU struct {
	runs, closed int
}

func (c *countedGPU) Run(context.Context, measure.Task, func(uint32, measure.Hash)) (measure.Run, error) {
	c.runs++
	return nil, nil
}

func (c *countedGPU) Close() error { c.closed++; return nil }

func (c *countedGPU) Profile() measure.Profile { return measure.Profile{Order: 7} }

// A GPU is opened at its first measurement, tried again at the next one where that failed, and given back once.
func TestAGPUStaysOpen(t *testing.T) {
	broken, opens := errors.New("out of memory"), 0
	fake, fails := &countedGPU{}, true
	g := &GPU{uuid: "GPU-7", open: func(_ context.Context, uuid string) (opened, error) {
		require.Equal(t, "GPU-7", uuid)
		opens++
		if fails {
			return nil, broken
		}
		return fake, nil
	}}
	_, err := g.Run(t.Context(), measure.Task{}, nil)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "GPU-7")
	_, err = g.Profile(t.Context())
	require.ErrorIs(t, err, broken)
	fails = false
	for range 2 {
		_, err := g.Run(t.Context(), measure.Task{}, nil)
		require.NoError(t, err)
	}
	p, err := g.Profile(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, p.Order)
	require.Equal(t, 3, opens)
	require.Equal(t, 2, fake.runs)
	for range 2 {
		require.NoError(t, Close([]measure.Device{processor.Faulty{}, g}))
	}
	require.Equal(t, 1, fake.closed)
	_, err = g.Run(t.Context(), measure.Task{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// GPUs are opened before their first measurement, each of them though another one cannot be.
func TestGPUsAreOpenedBeforeTheyAreMeasured(t *testing.T) {
	broken, opens := errors.New("out of memory"), map[string]int{}
	open := func(_ context.Context, uuid string) (opened, error) {
		if opens[uuid]++; uuid == "GPU-1" {
			return nil, broken
		}
		return &countedGPU{}, nil
	}
	all := []measure.Device{&GPU{uuid: "GPU-1", open: open}, &GPU{uuid: "GPU-2", open: open}, processor.Simulated()}
	require.ErrorIs(t, Open(t.Context(), all), broken)
	_, err := all[1].Run(t.Context(), measure.Task{}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"GPU-1": 1, "GPU-2": 1}, opens)
	require.NoError(t, Close(all))
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

// A device of CUDA's that cannot be opened says nothing about those after it.
func TestOneGPUThatCannotBeOpenedHidesNoOther(t *testing.T) {
	wanted, other := &countedGPU{}, &countedGPU{}
	shown := []func() (found, error){
		func() (found, error) { return found{}, errors.New("cuda: device 0: hardware error") },
		func() (found, error) { return found{other, [16]byte{1}}, nil },
		func() (found, error) { return found{wanted, [16]byte{0xab}}, nil },
	}
	open := func(i int) (found, error) {
		if i >= len(shown) {
			return found{}, attest.ErrAbsent
		}
		return shown[i]()
	}
	d, err := find("GPU-ab000000-0000-0000-0000-000000000000", open)
	require.NoError(t, err)
	require.Equal(t, opened(wanted), d)
	require.Equal(t, 1, other.closed)
	_, err = find("GPU-cd000000-0000-0000-0000-000000000000", open)
	require.ErrorIs(t, err, attest.ErrAbsent)
	require.ErrorContains(t, err, "hardware error", "it may have been that one")
}
