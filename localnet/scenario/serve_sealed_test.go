//go:build e2e

package scenario

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A server orders what the command can: a sealed order is paid the second price, and a redundant one runs on machines
// of different owners.
func TestAServerOrdersSealedAndRedundant(t *testing.T) {
	t.Parallel()
	n, customer := sealedMarket(t, network.Config{Nodes: bidders(1_200_000, 1_300_000, 1_400_000)})
	m := serveModels(t, n, customer)
	order := func(key string, more map[string]any) (out deployed) {
		t.Helper()
		body := map[string]any{"gpu": "A100", "seconds": 120, "maxPricePerGpuHour": "2", "command": []string{"sh", "-c", "sleep 2; echo 42"}, "runToCompletion": true, "allowSimulated": true}
		maps.Copy(body, more)
		var got struct {
			Phase string
			deployed
		}
		require.Eventually(t, func() bool {
			status, text := m.order(key, body, &got)
			require.Less(t, status, http.StatusBadRequest, text)
			return got.Phase == "bought"
		}, 2*time.Minute, 100*time.Millisecond)
		return got.deployed
	}
	sealed := order("sealed", map[string]any{"sealed": true, "auctionSeconds": 5, "revealSeconds": 6})
	require.Len(t, sealed.Leases, 1)
	require.Equal(t, n.Nodes[0].Address.String(), sealed.Leases[0].Node)
	price, err := market.ParsePrice(sealed.Leases[0].Price)
	require.NoError(t, err)
	require.InDelta(t, 1_300_000, float64(price), 30_000, "the second price; reputations may differ a little")
	require.True(t, replay(t, n, customer, 0, sealed.Order).OK)
	require.Eventually(t, func() bool { // its machine is free again
		for _, l := range snapshotOf(t, n).Leases() {
			if l.State() < market.LeaseEnded {
				return false
			}
		}
		return true
	}, time.Minute, 200*time.Millisecond)

	redundant := order("redundant", map[string]any{"redundancy": 3})
	nodes := map[string]bool{}
	for _, l := range redundant.Leases {
		nodes[l.Node] = true
	}
	require.Len(t, nodes, 3, "one lease on each machine")

	var problem struct{ Detail string }
	status, _ := m.order("both", map[string]any{"gpu": "A100", "seconds": 60, "command": []string{"true"}, "sealed": true, "redundancy": 3}, &problem)
	require.GreaterOrEqual(t, status, http.StatusBadRequest)
}
