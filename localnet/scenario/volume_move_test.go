//go:build e2e

package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A machine fails. The client that attends the lease hands key and bucket to the next one, which goes on from the snapshot
// whose hash the first has put on chain.
func TestAVolumeMovesWithItsLease(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	nodes := network.DefaultNodes(3)
	for i := range nodes { // a lease moves only where it costs no more
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	bucket := s3test.Start(t, nil)
	require.NoError(t, n.KeepBucketKeys(customer, s3test.AccessKey, s3test.SecretKey))
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	type result struct {
		out network.Output
		err error
	}
	deployed := make(chan result, 1)
	go func() {
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "10m", "--allow-simulated", "--migrate",
			"--network", "none", "--image", image, "--volume", "data:16MiB", "--backup", "s3://"+s3test.Bucket+"/team", "--backup-endpoint", bucket.URL, "--backup-every", "1m",
			"--", "get=/data/x", "put=/data/x,kept ", "wait")
		deployed <- result{out, err}
	}()
	lease := func(wanted func(market.Lease) bool) (found market.Lease) {
		t.Helper()
		require.Eventually(t, func() bool {
			for _, l := range snapshotOf(t, n).Leases() {
				if l.State() == market.LeaseRunning && wanted(l) {
					found = l
					return true
				}
			}
			return false
		}, 3*time.Minute, 100*time.Millisecond)
		return found
	}
	first := lease(func(l market.Lease) bool { return l.CheckpointHash != [32]byte{} })
	for _, m := range n.Nodes {
		if m.Address == first.Node {
			require.NoError(t, n.Fail(t.Context(), m.Name))
		}
	}
	second := lease(func(l market.Lease) bool { return l.Continues == 1 })
	require.Equal(t, first.CheckpointHash, second.CheckpointHash)
	require.Eventually(t, func() bool {
		out, err := n.Gantry(t.Context(), customer, "logs", second.Address.String())
		return err == nil && strings.Contains(out.Stdout, `got /data/x \"kept kept \" <nil>`)
	}, time.Minute, 200*time.Millisecond)
	ok(t, n, customer, "stop", second.Address.String())
	select {
	case got := <-deployed:
		require.NoError(t, got.err)
		require.Contains(t, got.out.Stderr, "✓ resumed")
	case <-time.After(2 * time.Minute):
		t.Fatal("the deployment did not end")
	}
}
