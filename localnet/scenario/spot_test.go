//go:build e2e

package scenario

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// leaseNow is a lease as the chain has it.
func leaseNow(t *testing.T, n *network.Network, address string) market.Lease {
	t.Helper()
	l, found := snapshotOf(t, n).Lease(solana.MustPublicKeyFromBase58(address))
	require.True(t, found, address)
	return l
}

// An interruptible order goes to the machine with the lowest spot price, for that price. When the owner wants the machine
// back, its agent gives notice and ends the lease after it. A lease of the same machine that is not interruptible continues, and
// the machine's record is not harmed.
func TestAnInterruptibleLease(t *testing.T) {
	t.Parallel()
	n, customer := sealedMarket(t, network.Config{Nodes: []network.NodeSpec{
		{Name: "node-1", Provider: 0, GPU: "A100", Count: 2, Region: "us-west-2", Price: 1_200_000},
		{Name: "node-2", Provider: 1, GPU: "A100", Region: "us-west-2", Price: 1_000_000},
	}})
	own, other := n.Nodes[0], n.Nodes[1]
	deploy := func(args ...string) (d deployed) {
		all := append([]string{"deploy", "--gpu", "A100", "--duration", "20m", "--allow-simulated", "--detach"}, args...)
		require.NoError(t, ok(t, n, customer, append(all, "--", "sleep", "1200")...).Decode(&d))
		require.Len(t, d.Leases, 1)
		return d
	}

	out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--duration", "5m", "--allow-simulated", "--spot", "--", "true")
	require.NoError(t, err)
	require.NotZero(t, out.Code, "no machine takes interruptible work yet")
	require.Contains(t, out.Stderr, "interruptible")
	ok(t, n, n.Keys.Providers[0], "node", "update", own.Address.String(), "--spot", "50")
	require.NoError(t, pause(t.Context(), (market.AwardViewSecs+3)*time.Second))

	spot := deploy("--spot", "--max-price", "0.7")
	require.Equal(t, own.Address.String(), spot.Leases[0].Node, "its spot price is the lower one")
	require.Equal(t, "0.60", spot.Leases[0].Price)
	firm := deploy("--max-price", "2")
	require.Equal(t, other.Address.String(), firm.Leases[0].Node, "the whole price counts")
	second := deploy("--max-price", "2")
	require.Equal(t, own.Address.String(), second.Leases[0].Node)
	require.Equal(t, "1.20", second.Leases[0].Price)

	now := time.Now()
	setHours(t, n, own, now.Add(12*time.Hour), now.Add(13*time.Hour))
	address := spot.Leases[0].Address
	require.Eventually(t, func() bool { return leaseNow(t, n, address).NoticeAt != 0 }, time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool {
		l := leaseNow(t, n, address)
		return l.State() == market.LeaseEnded
	}, 2*time.Minute, 200*time.Millisecond)
	l := leaseNow(t, n, address)
	require.Equal(t, market.EndedByProvider, l.Reason())
	require.EqualValues(t, 1, l.KeptWord)
	require.GreaterOrEqual(t, l.EndedAt, l.NoticeOver())
	require.GreaterOrEqual(t, l.EndedAt-l.StartedAt, int64(market.SpotLeastNotices*l.NoticeSecs))
	still := leaseNow(t, n, second.Leases[0].Address)
	require.Equal(t, market.LeaseRunning, still.State())
	node, found := snapshotOf(t, n).Node(own.Address)
	require.True(t, found)
	require.Zero(t, node.JobsFailed)
}
