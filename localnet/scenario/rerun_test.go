//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A redundant job is run again: on machines of others than the first time, with the same output.
func TestARerunIsOnOtherMachines(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(6)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 2, Customers: 1, Nodes: nodes, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")

	type run struct {
		Order  string
		Leases []struct{ Node string }
		Rerun  struct {
			Of, FirstOutput, SecondOutput string
			Same                          *bool
		}
	}
	deploy := func(more ...string) (r run) {
		args := append([]string{"deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "2m", "--allow-simulated"}, more...)
		out, err := n.Gantry(t.Context(), customer, append(args, "--", "sh", "-c", "sleep 2; echo 42")...)
		require.NoError(t, err)
		require.Zero(t, out.Code, out.Stdout+out.Stderr)
		t.Log(out.Stderr)
		require.NoError(t, json.Unmarshal([]byte(out.Stdout), &r))
		require.Len(t, r.Leases, 3)
		return r
	}
	first := deploy("--redundancy", "3")
	second := deploy("--rerun", first.Order)
	used := map[string]bool{}
	for _, l := range first.Leases {
		used[l.Node] = true
	}
	for _, l := range second.Leases {
		require.False(t, used[l.Node], "node %s was in the first run", l.Node)
	}
	require.Equal(t, first.Order, second.Rerun.Of)
	require.NotNil(t, second.Rerun.Same)
	require.True(t, *second.Rerun.Same)

	out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--duration", "2m", "--allow-simulated", "--rerun", first.Order, "--", "echo", "another job")
	require.NoError(t, err)
	require.NotZero(t, out.Code)
	require.Contains(t, out.Stderr, "was for another job")
}
