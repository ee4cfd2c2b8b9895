//go:build e2e

package scenario

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// Three machines of three owners run one job, one of them comes to another result: what the other two have is paid, the
// third gets nothing. The agent of one of the two is killed while it waits for the others: it shows what it had
// committed to.
func TestAWrongOutputIsNotPaid(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(4)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	// Two cheaper machines of one owner: that they are not both taken is for keepers to see.
	nodes[0].Price, nodes[3].Price, nodes[3].Provider = 1_200_000, 1_200_000, 0
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 2, Customers: 1, Nodes: nodes, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")

	type result struct {
		out network.Output
		err error
	}
	deployed := make(chan result, 1)
	go func() {
		// A job has a home below its machine's name. Node 2 gives a wrong result; node 3 takes longest, so that the
		// others wait. Less than a second of work would be paid with nothing.
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "2m", "--allow-simulated",
			"--redundancy", "3", "--", "sh", "-c",
			`case $HOME in *node-2*) echo 41;; *node-3*) sleep 8; echo 42;; *) sleep 3; echo 42;; esac; echo $HOME >&2`)
		deployed <- result{out, err}
	}()
	// One that has committed is killed before the last one has.
	leases := map[solana.PublicKey]market.Lease{}
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).Leases() {
			leases[l.Address] = l
			if market.OutputState(l.Output) == market.OutputCommitted {
				for _, m := range n.Nodes {
					if m.Address == l.Node && m.Name != "node-2" {
						require.NoError(t, n.Kill(m.Name))
						t.Logf("%s was killed after it had committed", m.Name)
						return true
					}
				}
			}
		}
		return false
	}, 60*time.Second, 50*time.Millisecond)

	var got result
	select {
	case got = <-deployed:
	case <-time.After(120 * time.Second):
		t.Fatal("the deployment did not end")
	}
	require.NoError(t, got.err)
	t.Log(got.out.Stderr)
	require.Zero(t, got.out.Code, got.out.Stdout)
	require.Equal(t, 2, strings.Count(got.out.Stderr, "is what most machines have"))
	require.Equal(t, 1, strings.Count(got.out.Stderr, "is not what most machines have"))
	var printed struct{ Order string }
	require.NoError(t, json.Unmarshal([]byte(got.out.Stdout), &printed))

	order := solana.MustPublicKeyFromBase58(printed.Order)
	require.Len(t, leases, 3)
	owners := map[solana.PublicKey]bool{}
	for _, l := range leases {
		owners[l.Provider] = true
		var paid *bindings.LeaseSettled
		if l.Node == n.Nodes[1].Address { // the others are paid by now, or by the next report
			require.NoError(t, pause(t.Context(), 3*time.Duration(n.Params().PeriodSecs)*time.Second))
		}
		settled := func() bool {
			history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{l.Address}, 0)
			require.NoError(t, err)
			_, event, found := invariants.Find(history, func(e *bindings.LeaseSettled) bool { return e.Lease == l.Address && e.Paid > 0 })
			paid = event
			return found
		}
		if l.Node == n.Nodes[1].Address {
			require.False(t, settled(), "a wrong output is not paid")
			continue
		}
		require.Eventually(t, settled, 60*time.Second, 200*time.Millisecond)
		t.Logf("%s: %s USDC for %d s", l.Node, market.USDC(paid.Paid).Exact(), paid.PaidSecs)
	}
	require.Len(t, owners, 3, "keepers spread the job over owners")
	// The nodes are those that the block after the order draws, as anyone can recompute.
	for address := range leases {
		out, err := n.Gantry(t.Context(), customer, "audit", address.String())
		require.NoError(t, err)
		require.Zero(t, out.Code, out.Stdout+out.Stderr)
		require.Contains(t, out.Stdout, `"name": "draw"`)
	}
	history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{order}, 0)
	require.NoError(t, err)
	_, resolved, found := invariants.Find(history, func(e *bindings.OutputsResolved) bool { return e.Order == order })
	require.True(t, found)
	require.EqualValues(t, 2, resolved.Accepted)
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}
