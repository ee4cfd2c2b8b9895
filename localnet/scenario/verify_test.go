//go:build e2e

package scenario

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// verified is what `gantry verify` prints.
type verified struct {
	Outcome string
	GPUs    []struct{ Operations, Bandwidth float64 }
}

// A customer measures its machine before it is paid: an honest one passes and is paid from then on, one that makes its
// bytes up and one that answers nothing lose the lease, for seconds at most.
func TestCustomersMeasureTheirMachines(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(2)
	nodes[1].Wrong = true
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	always := func(gpu, maxPrice string, more ...string) []string {
		args := []string{"deploy", "--gpu", gpu, "--max-price", maxPrice, "--duration", "10m", "--allow-simulated", "--verify", "always"}
		return append(append(args, more...), "--", "sleep", "600")
	}

	// The one that makes its bytes up comes first: keepers find it, too.
	refused, err := n.Gantry(t.Context(), customer, always("H100", "2.60")...)
	require.NoError(t, err)
	require.Contains(t, refused.Stderr, "a cell is not what the product has there")
	endedUnpaid(t, n, refused)

	began := time.Now()
	lease := leaseIn(t, ok(t, n, customer, always("A100", "1.60", "--detach")...))
	t.Logf("deployed with a measurement after %.1f s", time.Since(began).Seconds())

	// Its job has the GPUs as soon as it is started, and is asked for.
	var out network.Output
	require.Eventually(t, func() bool {
		out, err = n.Gantry(t.Context(), customer, "verify", lease)
		require.NoError(t, err)
		return out.Code == refusedByMarket
	}, time.Minute, 200*time.Millisecond)
	require.Contains(t, out.Stderr, "--beside-job")
	var v verified
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "--json", "verify", lease, "--beside-job").Stdout), &v))
	require.Equal(t, "measured", v.Outcome)
	require.Len(t, v.GPUs, 1)
	require.Positive(t, v.GPUs[0].Operations)
	require.Positive(t, v.GPUs[0].Bandwidth)
	t.Logf("beside its job: %.3g operations, %.3g bytes a second", v.GPUs[0].Operations, v.GPUs[0].Bandwidth)
	ok(t, n, customer, "stop", lease)
	out, err = n.Gantry(t.Context(), customer, "verify", lease)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, out.Code, "the lease is over")

	// One that answers nothing is not paid for that.
	require.NoError(t, n.Silence(n.Nodes[0], true))
	refused, err = n.Gantry(t.Context(), customer, always("A100", "1.60")...)
	require.NoError(t, err)
	require.NoError(t, n.Silence(n.Nodes[0], false))
	endedUnpaid(t, n, refused)
}

func leaseIn(t *testing.T, out network.Output) string {
	t.Helper()
	var d struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &d), out.Stdout)
	require.Len(t, d.Leases, 1)
	return d.Leases[0].Address
}

var notPassed = regexp.MustCompile(`the machine of lease (\w+) does not pass its measurement`)

// endedUnpaid requires that a lease whose machine did not pass was ended by its customer within seconds of its start, and
// that no receipt was signed for it.
func endedUnpaid(t *testing.T, n *network.Network, out network.Output) {
	t.Helper()
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	found := notPassed.FindStringSubmatch(out.Stderr)
	require.NotNil(t, found, out.Stderr)
	endedByCustomer(t, n, solana.MustPublicKeyFromBase58(found[1]))
}

// endedByCustomer requires the same of a lease.
func endedByCustomer(t *testing.T, n *network.Network, lease solana.PublicKey) {
	t.Helper()
	var started *bindings.LeaseStarted
	var ended *bindings.LeaseEnded
	require.Eventually(t, func() bool {
		history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{lease}, 0)
		require.NoError(t, err)
		_, _, settled := invariants.Find(history, func(e *bindings.LeaseSettled) bool {
			return e.Lease == lease && e.Source == uint8(market.SourceReceipt)
		})
		require.False(t, settled, "a receipt was signed")
		_, started, _ = invariants.Find(history, func(e *bindings.LeaseStarted) bool { return e.Lease == lease })
		_, ended, _ = invariants.Find(history, func(e *bindings.LeaseEnded) bool {
			return e.Lease == lease && e.Reason == uint8(market.EndedByCustomer)
		})
		return started != nil && ended != nil
	}, 30*time.Second, 200*time.Millisecond)
	t.Logf("lease %s was ended %d s after its start", lease, ended.EndedAt-started.StartedAt)
	require.LessOrEqual(t, ended.EndedAt-started.StartedAt, int64(10))
}
