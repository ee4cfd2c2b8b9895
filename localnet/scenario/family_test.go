//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Two orders of one moment take either model. There is one machine of each: the keeper awards both, the cheaper machine first. An order that
// names one model would have waited for the machine that the other got. The client names every model that is meant.
func TestAnOrderTakesAnyOfSeveralModels(t *testing.T) {
	t.Parallel()
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "20")

	var orders []solana.Instruction
	for nonce := range uint64(2) {
		order, err := ix.OrderCreate(ix.OrderCreateArgs{
			Customer: customer.Address(), Nonce: 1 + nonce, MaxPrice: 3_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
			Requirement: market.Requirement{Models: market.Models(seed.H100, seed.A100), AllowSimulated: 1},
		})
		require.NoError(t, err)
		orders = append(orders, order)
	}
	_, err = n.Sender().Send(t.Context(), customer.Key, nil, orders...)
	require.NoError(t, err)
	var leases []market.Lease
	require.Eventually(t, func() bool {
		leases = snapshotOf(t, n).Leases()
		return len(leases) == 2
	}, 30*time.Second, 100*time.Millisecond)
	models := map[uint16]bool{}
	for _, l := range leases {
		node, found := snapshotOf(t, n).Node(l.Node)
		require.True(t, found)
		models[node.Spec.Model] = true
	}
	require.Equal(t, map[uint16]bool{seed.A100: true, seed.H100: true}, models)

	// Both machines are taken: what the command orders waits with both names, and nobody can serve it now.
	refused, err := n.Gantry(t.Context(), customer, deploy("3", "any")...)
	require.NoError(t, err)
	require.Contains(t, refused.Stderr, "0 nodes can serve 1×")
	require.Contains(t, refused.Stderr, "A100")
	require.Contains(t, refused.Stderr, " or ")
	require.Contains(t, refused.Stderr, "H100")
	var placed []struct{ Model string }
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "order", "list", "--json").Stdout), &placed))
	require.Len(t, placed, 2)
	for _, o := range placed {
		require.Contains(t, o.Model, " or ")
	}
}
