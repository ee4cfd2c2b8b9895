package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/view"
)

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
