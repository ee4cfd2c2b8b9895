package daemon

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest/work"
)

// Simulated machines never touch a GPU.
func TestSimulatedProver(t *testing.T) {
	for name, c := range map[string]struct {
		cfg       config.Config
		simulated bool
		want      work.Prover
	}{
		"real":               {},
		"simulated":          {simulated: true, want: work.CPU{}},
		"slow":               {cfg: config.Config{SlowFactor: 3}, want: work.Throttled{Prover: work.CPU{Workers: 1}, Repeat: 3}},
		"simulated and slow": {cfg: config.Config{SlowFactor: 3}, simulated: true, want: work.Throttled{Prover: work.CPU{Workers: 1}, Repeat: 3}},
		"factor of one":      {cfg: config.Config{SlowFactor: 1}, simulated: true, want: work.CPU{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := simulatedProver(c.cfg, c.simulated)
			require.Equal(t, c.want != nil, ok)
			require.Equal(t, c.want, got)
		})
	}
	var log bytes.Buffer
	a := &Agent{log: zerolog.New(&log), machine: &host.Machine{Inventory: host.Inventory{Simulated: true}}}
	require.NoError(t, a.openProver(t.Context()))
	require.Equal(t, work.CPU{}, a.prover)
	require.Nil(t, a.device)
	require.Contains(t, log.String(), `"simulated":true`)
	a.close()
}

// On a machine with a GPU this runs on it; elsewhere the processor stands in and the log says why.
func TestThisMachinesProver(t *testing.T) {
	var log bytes.Buffer
	a := &Agent{log: zerolog.New(&log), machine: &host.Machine{}}
	require.NoError(t, a.openProver(t.Context()))
	t.Log(log.String())
	require.Contains(t, log.String(), `"prover":`)
	proof, err := a.prover.Prove(t.Context(), work.Seed{1}, 64)
	require.NoError(t, err)
	require.NoError(t, work.Verifier{}.VerifyProof(t.Context(), proof))
	require.Equal(t, a.device, a.prover)
	a.device.log = zerolog.Nop()
	require.NoError(t, a.device.Close())
}

// fakeDevice counts how often it is given back.
type fakeDevice struct {
	work.CPU
	closed int
}

func (f *fakeDevice) Name() string   { return "fake" }
func (f *fakeDevice) Reason() string { return "" }
func (f *fakeDevice) Close() error   { f.closed++; return nil }

// A GPU that fails is not replaced by the processor, and is used as soon as it works.
func TestDeviceProver(t *testing.T) {
	var log bytes.Buffer
	broken, opened := errors.New("out of memory"), 0
	fake := &fakeDevice{}
	fails := true
	p := &deviceProver{log: zerolog.New(&log), open: func(context.Context) (device, error) {
		opened++
		if fails {
			return nil, broken
		}
		return fake, nil
	}}
	a := &Agent{prover: p, device: p}
	_, err := p.use(t.Context())
	require.ErrorIs(t, err, broken)
	_, err = p.Prove(t.Context(), work.Seed{}, 32)
	require.ErrorIs(t, err, broken, "no proof rather than a slow one")
	require.Equal(t, "GPU, not opened", p.Name())
	require.Empty(t, log.String())

	fails = false
	for range 2 {
		proof, err := p.Prove(t.Context(), work.Seed{2}, 32)
		require.NoError(t, err)
		require.NoError(t, work.Verifier{}.VerifyProof(t.Context(), proof))
	}
	require.Equal(t, 3, opened, "it is opened once when it works")
	require.Equal(t, "fake", p.Name())
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("computed by the GPU")))

	a.close()
	a.close()
	require.Equal(t, 1, fake.closed)
	_, err = p.Prove(t.Context(), work.Seed{2}, 32)
	require.ErrorIs(t, err, context.Canceled)
}

func TestProverSaysWhyThereIsNoGPU(t *testing.T) {
	var log bytes.Buffer
	p := &deviceProver{log: zerolog.New(&log), open: func(context.Context) (device, error) {
		return processor{why: "no driver"}, nil
	}}
	_, err := p.use(t.Context())
	require.NoError(t, err)
	require.Contains(t, log.String(), "no driver")
	require.Contains(t, log.String(), "warn")
	require.NoError(t, p.Close())
}
