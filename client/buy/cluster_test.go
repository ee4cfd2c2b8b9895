package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

// The state of a cluster follows from its leases and its purchase, and its cost counts also a lease whose place another has.
func TestAClusterIsAsItsLeasesAre(t *testing.T) {
	order, other := solana.PublicKey{9}, solana.PublicKey{8}
	lease := func(n byte, status market.LeaseStatus) service.Lease {
		return service.Lease{Address: solana.PublicKey{n}.String(), Order: order.String(), Node: "machine", Status: status.String(), Cost: "0.50"}
	}
	gone := lease(7, market.LeaseEnded)
	stranger := lease(6, market.LeaseRunning)
	stranger.Order = other.String()
	p := purchase.Purchase{
		Order: order, Name: "pair", Stage: purchase.Handed, Bought: true, Job: &messages.JobSpec{Image: "debian:12"},
		Args:  ix.OrderCreateArgs{Nodes: 2, GPUsPerNode: 2, Duration: 3600, MaxPrice: 2_000_000},
		Group: []messages.GroupMember{{Lease: [32]byte{1}}, {Lease: [32]byte{2}}},
	}
	one, two := lease(1, market.LeaseRunning), lease(2, market.LeaseRunning)
	c, err := PickCluster([]purchase.Purchase{p}, []service.Lease{one, two, gone, stranger}, "pair")
	require.NoError(t, err)
	require.Equal(t, ClusterRunning, c.State)
	require.Equal(t, "1.500000", c.Cost)
	require.Equal(t, "8.00", c.Cap, "2 machines with 2 GPUs for an hour at 2.00")
	require.Equal(t, ClusterMember{Place: 1, Host: "node-1", Address: "10.77.0.2", Lease: two.Address, Node: "machine", Status: "running", Cost: "0.50"}, c.Members[1])

	for _, x := range []struct {
		what   string
		stage  purchase.Stage
		leases []service.Lease
		group  int
		bought bool
		state  string
		cost   string
	}{
		{"nothing is awarded", purchase.Placed, nil, 0, false, ClusterBuying, "0.000000"},
		{"one starts", purchase.Placed, []service.Lease{one, lease(2, market.LeaseAwarded)}, 2, true, ClusterStarting, "1.000000"},
		{"the job is on its way", purchase.Placed, []service.Lease{one, two}, 2, true, ClusterStarting, "1.000000"},
		{"one has failed", purchase.Handed, []service.Lease{one, lease(2, market.LeaseEnded)}, 2, true, ClusterPartial, "1.000000"},
		{"one is closed", purchase.Handed, []service.Lease{one}, 2, true, ClusterPartial, ""},
		{"all are over", purchase.Handed, []service.Lease{lease(1, market.LeaseEnded), lease(2, market.LeaseEnded)}, 2, true, ClusterEnded, "1.000000"},
		{"all are closed", purchase.Over, nil, 2, true, ClusterEnded, ""},
		{"nothing was bought", purchase.Over, nil, 0, false, ClusterFailed, "0.000000"},
	} {
		q := p
		q.Stage, q.Bought, q.Group = x.stage, x.bought, p.Group[:x.group]
		c := clusterOf([]purchase.Purchase{q}, x.leases)
		require.Equal(t, x.state, c.State, x.what)
		require.Equal(t, x.cost, c.Cost, x.what)
		require.Len(t, c.Members, x.group, x.what)
	}
}

// Purchases without a private network are not clusters, and an unknown name is an error that callers can tell.
func TestWhatIsNotAClusterIsRefused(t *testing.T) {
	p := purchase.Purchase{Order: solana.PublicKey{9}, Name: "one", Stage: purchase.Handed, Job: &messages.JobSpec{Image: "debian:12"}, Args: ix.OrderCreateArgs{Nodes: 1}}
	bare := p
	bare.Name, bare.Order, bare.Args.Nodes, bare.Job = "bare", solana.PublicKey{8}, 2, &messages.JobSpec{}
	compared := p
	compared.Name, compared.Order, compared.Args.Nodes, compared.Args.Redundant = "compared", solana.PublicKey{7}, 3, true
	all := []purchase.Purchase{p, bare, compared}
	for _, name := range []string{"one", "bare", "compared"} {
		_, err := PickCluster(all, nil, name)
		require.ErrorIs(t, err, ErrNoCluster, name)
		require.ErrorContains(t, err, "is not a cluster", name)
	}
	_, err := PickCluster(all, nil, "none")
	require.ErrorIs(t, err, ErrNoCluster)
	require.NotEmpty(t, classify(err).Advice)
}
