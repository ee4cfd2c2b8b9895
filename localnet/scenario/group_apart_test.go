//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// The cheapest machine has no direct connections. It declines its lease of a cluster before billing begins, and its record stays the
// same. Another machine replaces it, and all leases start together.
func TestAMachineThatIsApartLeavesACluster(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	nodes := network.DefaultNodes(4)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	nodes[0].Price = market.PricePerHour(1_000_000)
	apart := nodes[0].Name
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Flags: map[string][]string{apart: {"--simulate-relayed"}}, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	mine := n.Keys.Customers[0]
	ok(t, n, mine, "credits", "add", "10")
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	var out buy.Outcome
	bought := ok(t, n, mine, "cluster", "up", "--gpu", "A100", "--nodes", "3", "--max-price", "3", "--duration", "30m", "--allow-simulated", "--network", "none", "--name", "three",
		"--detach", "--image", image, "--", "/bin/sh", "-c", `mkdir /www; echo "lease $GANTRY_LEASE" > /www/index.html; httpd -f -p $GANTRY_NODE_IP:8080 -h /www`)
	require.NoError(t, json.Unmarshal([]byte(bought.Stdout), &out))
	require.Len(t, out.Leases, 3)
	require.Contains(t, bought.Stderr, "it has no direct connection with the other machines of the order")

	g := &groupVisit{t: t, n: n, owner: mine}
	var leases []string
	first, last := int64(0), int64(0)
	for _, l := range g.leases(3) {
		require.NotEqual(t, apart, g.machine(l))
		require.Zero(t, l.Continues)
		if first == 0 || l.StartedAt < first {
			first = l.StartedAt
		}
		last = max(last, l.StartedAt)
	}
	t.Logf("the leases started within %d s", last-first)
	var c buy.Cluster
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, mine, "cluster", "status", "three").Stdout), &c))
	for _, m := range c.Members {
		leases = append(leases, m.Lease)
	}
	g.reach(mine, leases...)
	for _, node := range snapshotOf(t, n).Nodes() {
		require.Zero(t, node.FeesFailed, "nobody is blamed")
		require.Zero(t, node.Absent)
	}
	why := ok(t, n, mine, "why", out.Order)
	require.Contains(t, why.Stdout, "it has no direct connection with the other machines of the order")
	ok(t, n, mine, "cluster", "down", "three")
}
