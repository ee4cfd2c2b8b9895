//go:build e2e

package scenario

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// setHours starts the agent of a machine again with other hours, from one time to another.
func setHours(t *testing.T, n *network.Network, m *network.Machine, from, to time.Time) {
	t.Helper()
	require.NoError(t, n.Stop(t.Context(), m.Name))
	cfg, err := config.Load(n.DataDir(m.Name))
	require.NoError(t, err)
	cfg.Hours, cfg.TimeZone = fmt.Sprintf("%s-%s", from.UTC().Format("15:04"), to.UTC().Format("15:04")), "UTC"
	require.NoError(t, cfg.Save())
	require.NoError(t, n.StartAgent(t.Context(), m))
}

// becomes waits for a machine's status on chain.
func becomes(t *testing.T, n *network.Network, m *network.Machine, status market.NodeStatus) {
	t.Helper()
	require.Eventually(t, func() bool {
		node, found := snapshotOf(t, n).Node(m.Address)
		return found && node.State() == status
	}, time.Minute, 200*time.Millisecond, "%s becomes %s", m.Name, status)
}

// bidOf is the price that a machine bid for an order; 0 for none.
func bidOf(t *testing.T, n *network.Network, m *network.Machine, order string) uint64 {
	t.Helper()
	out, err := n.Bids(t.Context(), m)
	require.NoError(t, err)
	require.Zero(t, out.Code, out.Stderr)
	var all []sealedbid.BidHistory
	require.NoError(t, out.Decode(&all))
	for _, b := range all {
		if b.Order == order {
			return b.Price
		}
	}
	return 0
}

// Outside of its hours the cheapest machine bids for nothing and is awarded nothing; within them it bids for what ends within
// them, and for nothing longer.
func TestHoursOfAMachine(t *testing.T) {
	t.Parallel()
	n, customer := sealedMarket(t, network.Config{Nodes: bidders(1_200_000, 1_300_000)})
	own, other := n.Nodes[0], n.Nodes[1]
	now := time.Now()

	setHours(t, n, own, now.Add(12*time.Hour), now.Add(13*time.Hour))
	becomes(t, n, own, market.NodeHibernated)
	d := sealedOrder(t, n, customer)
	require.Equal(t, other.Address.String(), d.Leases[0].Node)
	require.Zero(t, bidOf(t, n, own, d.Order))
	require.NotZero(t, bidOf(t, n, other, d.Order))
	var instant deployed
	out := ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "2", "--duration", "5m", "--allow-simulated", "--run-to-completion", "--", "true")
	require.NoError(t, out.Decode(&instant))
	require.Equal(t, other.Address.String(), instant.Leases[0].Node)

	setHours(t, n, own, now.Add(-2*time.Hour), now.Add(4*time.Hour))
	becomes(t, n, own, market.NodeActive)
	// Keepers may need so long to learn of it.
	require.NoError(t, pause(t.Context(), (market.AwardViewSecs+3)*time.Second))
	d = sealedOrder(t, n, customer)
	require.Equal(t, own.Address.String(), d.Leases[0].Node)
	d = sealedOrder(t, n, customer, "--duration", "5h")
	require.Equal(t, other.Address.String(), d.Leases[0].Node, "its lease may last longer than the hours")
	require.Zero(t, bidOf(t, n, own, d.Order))
}
