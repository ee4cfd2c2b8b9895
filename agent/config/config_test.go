package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/sdk/chain"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	c, err := Load(dir)
	require.NoError(t, err)
	require.Equal(t, Config{DataDir: dir}, c)
	c.RPC, c.Region, c.Price, c.SettleInterval, c.Simulation = "http://127.0.0.1:8899", "us-west-2", "auto:1.5", time.Minute, Simulation{SlowFactor: 9, SilenceFile: "x"}
	require.NoError(t, c.Save())
	info, err := os.Stat(filepath.Join(dir, FileName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, err := Load(dir)
	require.NoError(t, err)
	c.Simulation = Simulation{} // a simulation is never remembered
	require.Equal(t, c, again)

	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), []byte("colour: blue\n"), 0o600))
	_, err = Load(dir)
	require.ErrorIs(t, err, ErrConfig)
	require.NotContains(t, err.Error(), "\n")
}

func TestComplete(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	c, err := Config{DataDir: "/d", RPC: "localhost"}.Complete()
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:8899", c.RPC)
	require.Equal(t, "ws://127.0.0.1:8900", c.WS)
	require.Equal(t, "/d/node.json", c.NodeKey)
	require.Equal(t, InventoryNVML, c.Inventory)
	require.False(t, c.Simulates())

	// The settings of the solana command stand in for what is not said.
	cli := filepath.Join(home, ".config", "solana", "cli")
	require.NoError(t, os.MkdirAll(cli, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(cli, "config.yml"), []byte("json_rpc_url: http://127.0.0.1:7000\nwebsocket_url: ws://127.0.0.1:7777\nkeypair_path: /k.json\n"), 0o600))
	c, err = Config{DataDir: "/d"}.Complete()
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:7000", "ws://127.0.0.1:7777", "/k.json"}, []string{c.RPC, c.WS, c.Wallet})

	for name, bad := range map[string]Config{
		"inventory": {RPC: "localhost", Inventory: "simulated:T4:1"},
		"count":     {RPC: "localhost", Inventory: "simulated:A100:9"},
		"region":    {RPC: "localhost", Region: "a-region-with-a-long-name"},
		"hours":     {RPC: "localhost", Hours: "nights"},
		"zone":      {RPC: "localhost", Hours: "weekends", TimeZone: "Mars"},
		"quiet":     {RPC: "localhost", QuietTime: -1},
		"slow":      {RPC: "localhost", Simulation: Simulation{SlowFactor: -1}},
	} {
		_, err := bad.Complete()
		require.ErrorIs(t, err, ErrConfig, name)
	}
	_, err = Config{RPC: "ftp://x"}.Complete()
	require.ErrorIs(t, err, chain.ErrEndpoint)
	for _, c := range []Config{
		{Simulation: Simulation{SlowFactor: 2}},
		{Simulation: Simulation{SilenceFile: "f"}},
		{Inventory: "simulated:A100:1"},
		{Simulation: Simulation{ClockAhead: time.Hour}},
		{Simulation: Simulation{ClockAhead: -time.Hour}},
	} {
		require.True(t, c.Simulates())
	}
}

func TestParseInventory(t *testing.T) {
	inv, err := ParseInventory("simulated:H100:8")
	require.NoError(t, err)
	require.Equal(t, host.Source{Simulated: true, Model: host.SimulatedH100, Count: 8}, inv)
	inv, err = ParseInventory("simulated:a100")
	require.NoError(t, err)
	require.Equal(t, 1, inv.Count)
	for _, bad := range []string{"", "nvidia", "simulated", "simulated:", "simulated:A100:", "simulated:A100:0", "simulated:A100:x", "A100:1"} {
		_, err := ParseInventory(bad)
		require.ErrorIs(t, err, ErrConfig, bad)
	}
}

func FuzzParseInventory(f *testing.F) {
	for _, s := range []string{"nvml", "simulated:A100:1", "simulated:H100:8", "simulated::", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if inv, err := ParseInventory(s); err == nil && inv.Simulated && (inv.Count < 1 || inv.Count > host.MaxSimulated) {
			t.Fatalf("%q gives %d GPUs", s, inv.Count)
		}
	})
}
