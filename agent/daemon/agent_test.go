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
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/view"
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
		for _, cfg := range []config.Config{{SlowFactor: 2}, {SilenceFile: "f"}, {LostFile: "f"}, {UsedFile: "f"}, {Inventory: "simulated:H100:1"}} {
			a := &Agent{cfg: cfg, log: zerolog.Nop()}
			require.ErrorIs(t, a.checkSimulations(cluster), ErrSimulation, name)
			require.NoError(t, a.checkSimulations(local))
		}
		require.NoError(t, (&Agent{log: zerolog.Nop()}).checkSimulations(cluster), "an honest node needs no permission")
	}
}

func TestSilentNodeHoldsRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "silence")
	h := &handlers{silence: file}
	require.NoError(t, h.holdSilently(t.Context()))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.True(t, p2p.IsCode(h.holdSilently(ctx), p2p.CodeUnavailable))
	require.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond)
	require.NoError(t, (&handlers{}).holdSilently(t.Context()))

	held := make(chan error, 1)
	go func() { held <- h.holdSilently(context.Background()) }()
	require.NoError(t, os.Remove(file))
	select {
	case <-held: // no answer, or none was held: it depends on which came first
	case <-time.After(5 * time.Second):
		t.Fatal("a request is held although the silence is over")
	}
	require.NoError(t, h.holdSilently(t.Context()))
}

func TestStatusFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status.json")
	_, err := ReadStatus(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = ReadStatus(path)
	require.Error(t, err)
	now := time.Now()
	require.True(t, Status{PID: os.Getpid(), At: now.Add(-3 * time.Second)}.Fresh(now))
	require.False(t, Status{PID: os.Getpid(), At: now.Add(-time.Minute)}.Fresh(now))
	require.False(t, Status{PID: 1 << 30, At: now}.Fresh(now), "no such process")
}

func TestNewNeedsEveryDependency(t *testing.T) {
	complete := config.Config{DataDir: t.TempDir(), RPC: "http://127.0.0.1:8899", NodeKey: "node.json", Inventory: config.InventoryNVML}
	_, err := New(Options{Config: complete})
	require.NoError(t, err)
	for name, remove := range map[string]func(*config.Config){
		"data folder": func(c *config.Config) { c.DataDir = "" },
		"RPC":         func(c *config.Config) { c.RPC = "" },
		"node key":    func(c *config.Config) { c.NodeKey = "" },
		"inventory":   func(c *config.Config) { c.Inventory = "" },
	} {
		c := complete
		remove(&c)
		_, err := New(Options{Config: c})
		require.ErrorIs(t, err, config.ErrConfig, name)
	}
	for name, shared := range map[string]*Shared{
		"no view":   {Client: &chain.Client{}},
		"no client": {View: view.New(view.Options{})},
	} {
		_, err := New(Options{Config: complete, Shared: shared})
		require.Error(t, err, name)
	}
}
