//go:build e2e

package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
)

// A customer has its machine measured at a random second of the lease, beside the job: an honest one passes and goes
// on, one that makes its bytes up loses the lease.
func TestCustomersInspectTheirMachines(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(2)
	nodes[1].Wrong = true
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	inspected := func(gpu, maxPrice string) network.Output {
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", gpu, "--max-price", maxPrice, "--duration", "20s", "--allow-simulated",
			"--verify", "never", "--inspect", "always", "--", "sleep", "60")
		require.NoError(t, err)
		return out
	}

	// Keepers find the one that makes its bytes up, too: it comes first.
	out := inspected("H100", "2.60")
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Regexp(t, notPassed, out.Stderr)
	require.Contains(t, out.Stderr, "running", "its job ran when it was measured")
	require.Contains(t, out.Stderr, "a cell is not what the product has there")

	out = inspected("A100", "1.60")
	require.Contains(t, out.Stderr, "✓ inspected")
	require.NotContains(t, out.Stderr, "does not pass")
}
