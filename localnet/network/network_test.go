package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/ports"
	"github.com/gantry-market/gantry/localnet/process"
)

func TestStateIsOfTheLockHolder(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadState(dir)
	require.ErrorIs(t, err, ErrNotRunning)

	sup, err := process.New(dir, zerolog.Nop())
	require.NoError(t, err)
	want := State{PID: 7, Engine: "surfnet", RPC: "http://127.0.0.1:1", Nodes: []Member{{Name: "node-1"}}}
	require.NoError(t, writeState(dir, want))
	got, err := ReadState(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.NoError(t, sup.Close())
	stale, err := ReadState(dir)
	require.ErrorIs(t, err, ErrNotRunning)
	require.ErrorContains(t, err, "process 7 has ended")
	require.Equal(t, want, stale)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "network.json"), []byte("{"), 0o600))
	_, err = ReadState(dir)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotRunning)
}

func TestConfig(t *testing.T) {
	good := Config{Dir: t.TempDir(), Keepers: 1, Nodes: DefaultNodes(3)}
	full, err := good.withDefaults()
	require.NoError(t, err)
	require.Equal(t, 3, full.providers())
	require.NotNil(t, full.Params)
	for name, change := range map[string]func(*Config){
		"no directory":  func(c *Config) { c.Dir = "" },
		"no keeper":     func(c *Config) { c.Keepers = 0 },
		"same name":     func(c *Config) { c.Nodes[1].Name = c.Nodes[0].Name },
		"no name":       func(c *Config) { c.Nodes[1].Name = "" },
		"unknown model": func(c *Config) { c.Nodes[1].GPU = "B9000" },
		"setup of many": func(c *Config) { c.Nodes[1].Setup, c.Fleet = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			bad.Nodes = DefaultNodes(3)
			change(&bad)
			_, err := bad.withDefaults()
			require.Error(t, err)
		})
	}
}

// A member with a proxy of its own is given that, the others the node.
func TestEndpointsOfMembers(t *testing.T) {
	srv := fakerpc.New(t)
	p, err := fault.StartProxy(t.Context(), srv.URL())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	n := &Network{At: engine.Endpoint{RPC: srv.URL(), WS: srv.WS()}, proxies: map[string]*fault.Proxy{"node-1": p}}
	require.Equal(t, []string{"--url", "http://" + p.Addr(), "--ws", "ws://" + p.Addr()}, n.given("node-1"))
	require.Equal(t, n.direct(), n.given("node-2"))
	require.Equal(t, n.given("node-1"), n.givenKeeper("node-1"))
	require.NoError(t, n.Spoil("node-1", fault.Faults{Empty: 1}))
	require.Equal(t, fault.Faults{Empty: 1}, p.Faults())
	require.ErrorContains(t, n.Spoil("node-2", fault.Faults{}), "Config.Spoiled")
	require.Zero(t, n.SpoiledOf("node-2"))
	require.NoError(t, n.History())
}

func TestPortsDiffer(t *testing.T) {
	names := make([]string, ports.Most+2)
	for i := range names {
		names[i] = fmt.Sprint("keeper-", i)
	}
	n := &Network{}
	require.NoError(t, n.claimPorts(names))
	t.Cleanup(n.releasePorts)
	seen := map[uint16]bool{}
	for _, name := range names {
		require.NotZero(t, n.ports[name])
		require.False(t, seen[n.ports[name]])
		seen[n.ports[name]] = true
	}
}

func TestRunBinary(t *testing.T) {
	out, err := runBinary(t.Context(), "mark", "/bin/sh", []string{"WORD=two"}, "-c", `echo '{"a":1}'; echo $WORD $GANTRY_LOCALNET_MARK >&2; exit 3`)
	require.NoError(t, err)
	require.Equal(t, 3, out.Code)
	require.Equal(t, "two mark\n", out.Stderr)
	require.ErrorContains(t, out.Err(), "exit code 3: two mark")
	var doc struct{ A int }
	require.NoError(t, out.Decode(&doc))
	require.Equal(t, 1, doc.A)
	require.Error(t, Output{Stdout: "no"}.Decode(&doc))

	_, err = runBinary(t.Context(), "", "/nowhere/gantry", nil)
	require.Error(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	out, err = runBinary(ctx, "", "/bin/sh", nil, "-c", "trap 'exit 4' INT; while :; do sleep 0.02; done")
	require.True(t, errors.Is(err, context.DeadlineExceeded) || out.Code == 4, "%v %v", out, err)
	require.Less(t, time.Since(began), 3*time.Second)
}

func TestWaitFor(t *testing.T) {
	calls := 0
	require.NoError(t, waitFor(t.Context(), "two calls", time.Second, func(context.Context) (bool, error) {
		calls++
		return calls == 2, errors.New("not yet")
	}))
	err := waitFor(t.Context(), "an event", 40*time.Millisecond, func(context.Context) (bool, error) { return false, errors.New("no event yet") })
	require.ErrorContains(t, err, "an event")
	require.ErrorContains(t, err, "no event yet")
}
