//go:build e2e

package scenario

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
)

// A copy of a machine stops before it serves and says why, again and again; the original serves its lease all the while,
// also after a restart of its own, and keepers log the copy.
func TestACopiedMachineStops(t *testing.T) {
	t.Parallel()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 2, Customers: 1, Nodes: network.DefaultNodes(1), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	m := n.Nodes[0]
	require.Eventually(t, func() bool { return len(serves(t, n, m.Name)) > 0 }, time.Minute, 100*time.Millisecond)
	// Of two that began within two seconds their random ids say which one stops: this copy begins later than that.
	time.Sleep(3 * time.Second)
	copied := t.TempDir()
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := n.RunCopy(ctx, m, copied)
		cancel()
		require.NoError(t, err)
		require.NotZero(t, out.Code)
		require.Contains(t, out.Stdout+out.Stderr, "another agent runs with this machine's key")
		require.NotContains(t, out.Stdout+out.Stderr, "agent serves")
	}
	logged := 0
	for _, k := range n.Keys.Keepers {
		logged += len(linesAbout(t, n, k.Name, "several agents run with the key of one node"))
	}
	require.Positive(t, logged)

	require.NoError(t, n.Kill(m.Name))
	require.Eventually(t, func() bool { return len(serves(t, n, m.Name)) > 1 }, time.Minute, 100*time.Millisecond, "its former process does not stop it")
	restarts, err := n.Restarts(m.Name)
	require.NoError(t, err)
	require.Equal(t, 1, restarts)
}
