//go:build e2e

package scenario

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// The dates of two machines are an hour off, one ahead and one behind. Both serve a lease to the end of its paid-for
// time: no job ends early, receipts settle, the machines are paid for all of it, and nothing counts as a failure.
func TestMachinesWithAWrongDateServeLeases(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(2)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count = "A100", 1
	}
	offsets := map[string]string{nodes[0].Name: "1h", nodes[1].Name: "-1h"}
	flags := map[string][]string{}
	for name, off := range offsets {
		flags[name] = []string{"--simulate-clock-ahead", off}
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 2, Nodes: nodes, Flags: flags, Log: warnings(t),
		KeeperFlags: []string{"--simulate-unmeasured"}, // measurements take the processors that answers need
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))

	g, ctx := errgroup.WithContext(t.Context())
	outputs := make([]network.Output, 2)
	for i, customer := range n.Keys.Customers[:2] {
		ok(t, n, customer, "credits", "add", "10")
		g.Go(func() (err error) {
			outputs[i], err = n.Gantry(ctx, customer, "deploy", "--gpu", "A100", "--count", "1", "--max-price", "3", "--duration", "1m",
				"--allow-simulated", "--", "sh", "-c", "i=0; while true; do i=$((i+1)); echo second $i; sleep 1; done")
			return err
		})
	}
	leases := lastSeen(t, n, 2)
	require.NoError(t, g.Wait())

	served := map[solana.PublicKey]bool{}
	for _, l := range leases {
		served[l.Node] = true
		t.Logf("lease %s: %d s, %d by receipts, %d paid, down %d s, reason %d", l.Address, l.EndedAt-l.StartedAt, l.ReceiptSecs, l.PaidSecs, l.DowntimeSecs, l.Reason())
		require.Equal(t, market.EndedUnfunded, l.Reason())
		require.Equal(t, l.FundedUntil, l.EndedAt)
		require.EqualValues(t, 60, l.EndedAt-l.StartedAt)
		require.Less(t, l.DowntimeSecs, uint32(10), "answers may be late on a computer that is busy")
		require.NotZero(t, l.ReceiptSecs, "no receipt was settled")
		require.GreaterOrEqual(t, l.PaidSecs+l.DowntimeSecs, uint32(58))
	}
	require.Len(t, served, 2, "each machine had one of the two")
	for _, out := range outputs {
		require.Contains(t, out.Stdout+out.Stderr, "second 50", "the job ran to the end of its time")
	}
	v := snapshotOf(t, n)
	for _, m := range n.Nodes {
		node, there := v.Node(m.Address)
		require.True(t, there)
		require.Zero(t, node.JobsFailed, m.Name)
		log := logOf(t, n, m.Name)
		require.Contains(t, log, "1h0m0s "+map[string]string{"1h": "ahead of", "-1h": "behind"}[offsets[m.Name]])
		require.Equal(t, 1, strings.Count(log, "enable NTP"), "it is said once")
	}
}

// logOf is what a process has logged.
func logOf(t *testing.T, n *network.Network, name string) string {
	t.Helper()
	b, err := os.ReadFile(n.LogPath(name))
	require.NoError(t, err)
	return string(b)
}

// lastSeen follows so many leases until they are over and paid, and returns each as it was last seen.
func lastSeen(t *testing.T, n *network.Network, count int) map[solana.PublicKey]market.Lease {
	t.Helper()
	seen := map[solana.PublicKey]market.Lease{}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for over := 0; over < count; {
		require.NoError(t, pause(ctx, 200*time.Millisecond), "seen so far: %v", seen)
		over = 0
		v := snapshotOf(t, n)
		for _, l := range v.Leases() {
			seen[l.Address] = l
		}
		for _, l := range seen {
			if _, there := v.Lease(l.Address); !there || l.State() == market.LeaseEnded && l.PaidSecs == l.BillableSecs(l.EndedAt) {
				over++
			}
		}
	}
	return seen
}
