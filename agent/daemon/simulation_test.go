package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/sdk/p2p"
)

const genesis = "4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn"

// No simulation of any kind runs against a cluster that is not on this machine.
func TestSimulationsAreLocal(t *testing.T) {
	local := runtime.Cluster{GenesisHash: genesis, Endpoints: []string{"http://127.0.0.1:8899"}}
	for name, cluster := range map[string]runtime.Cluster{
		"remote": {GenesisHash: genesis, Endpoints: []string{"http://203.0.113.7:8899"}},
		"devnet": {GenesisHash: runtime.GenesisDevnet, Endpoints: local.Endpoints},
	} {
		for _, cfg := range []config.Config{
			{Inventory: "simulated:H100:1"},
			{Simulation: config.Simulation{SlowFactor: 2}},
			{Simulation: config.Simulation{WrongWork: true}},
			{Simulation: config.Simulation{Unopened: true}},
			{Simulation: config.Simulation{ClockAhead: -time.Second}},
			{Simulation: config.Simulation{SilenceFile: "f"}},
			{Simulation: config.Simulation{LostFile: "f"}},
			{Simulation: config.Simulation{UsedFile: "f"}},
			{Simulation: config.Simulation{KernelLog: "f"}},
		} {
			a := &Agent{cfg: cfg, log: zerolog.Nop()}
			require.ErrorIs(t, a.checkSimulations(cluster), ErrSimulation, "%s: %+v", name, cfg)
			require.NoError(t, a.checkSimulations(local))
		}
		require.NoError(t, (&Agent{log: zerolog.Nop()}).checkSimulations(cluster), "an honest node needs no permission")
	}
}

func TestSilentNodeHoldsRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "silence")
	s := simulation{config.Simulation{SilenceFile: file}}
	require.NoError(t, s.before(t.Context()))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.True(t, p2p.IsCode(s.before(ctx), p2p.CodeUnavailable))
	require.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond)
	require.NoError(t, simulation{}.before(t.Context()))

	held := make(chan error, 1)
	go func() { held <- s.before(context.Background()) }()
	require.NoError(t, os.Remove(file))
	select {
	case <-held: // no answer, or none was held: it depends on which came first
	case <-time.After(5 * time.Second):
		t.Fatal("a request is held although the silence is over")
	}
	require.NoError(t, s.before(t.Context()))
}

// What is simulated replaces what an honest node has, and nothing else does.
func TestSimulationsReplaceWhatIsHonest(t *testing.T) {
	one := processor.Simulated()
	source := host.Source{Simulated: true, Model: host.SimulatedA100, Count: 2}
	honest := simulation{}
	require.Equal(t, []measure.Device{one, one}, honest.falsifies([]measure.Device{one, one}))
	require.Equal(t, source, honest.breaks(source))
	require.WithinDuration(t, time.Now(), honest.date(), time.Minute)
	for name, c := range map[string]struct {
		s    config.Simulation
		want measure.Device
	}{
		"slow":     {config.Simulation{SlowFactor: 3}, processor.Slow{Device: one, Factor: 3}},
		"unopened": {config.Simulation{Unopened: true}, processor.Unopened{Device: one}},
		"wrong":    {config.Simulation{WrongWork: true}, processor.Faulty{}},
	} {
		require.Equal(t, []measure.Device{c.want}, simulation{c.s}.falsifies([]measure.Device{one}), name)
	}
	broken := simulation{config.Simulation{LostFile: "lost", UsedFile: "used", ClockAhead: time.Hour}}
	require.WithinDuration(t, time.Now().Add(time.Hour), broken.date(), time.Minute)
	source.LostFile, source.UsedFile = "lost", "used"
	require.Equal(t, source, broken.breaks(host.Source{Simulated: true, Model: host.SimulatedA100, Count: 2}))
}
