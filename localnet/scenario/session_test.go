//go:build e2e

package scenario

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// A program buys compute with a session key: its customer's wallet is not there. It stays within its cap, signs
// receipts, stops its lease, and can do nothing once it is removed.
func TestASessionKeyBuysCompute(t *testing.T) {
	t.Parallel()
	n, customer := newMarket(t)
	robot, err := seed.OpenWallet(filepath.Join(n.Dir(), "keys"), "robot")
	require.NoError(t, err)
	run := func(code int, args ...string) network.Output {
		out, err := n.GantryRaw(t.Context(), "robot", append([]string{"--json", "--yes", "--keypair", "/nowhere.json", "--url", n.At.RPC, "--ws", n.At.WS}, args...)...)
		require.NoError(t, err)
		require.Equal(t, code, out.Code, "%s\n%s", out.Stderr, out.Stdout)
		return out
	}
	as := []string{"--session", robot.Path}
	require.Contains(t, run(refusedByMarket, deploy("1.60", "A100", as...)...).Stderr, "gantry session add")
	ok(t, n, customer, "session", "add", robot.Path, "--cap", "0.50", "--expires", "1h", "--fund", "0.1")

	// A job that ends by itself.
	done := run(0, deploy("1.60", "A100", append(as, "--run-to-completion")...)...)
	var deployed struct{ Leases []struct{ Lease string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)

	// One that is extended and stopped. The session key finds its customer's leases by itself.
	args := append([]string{"deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "5m", "--allow-simulated", "--detach"}, as...)
	run(0, append(args, "--", "sleep", "300")...)
	var leases []market.Lease
	for _, l := range snapshotOf(t, n).LeasesOfCustomer(customer.Address()) {
		if l.State() == market.LeaseRunning {
			leases = append(leases, l)
		}
	}
	require.Len(t, leases, 1)
	id := leases[0].Address.String()
	run(0, append([]string{"extend", id, "--minutes", "1"}, as...)...)
	run(0, append([]string{"leases"}, as...)...)
	require.NoError(t, pause(t.Context(), 4*time.Second)) // so that something is owed, by any chain's clock
	run(0, append([]string{"stop", id}, as...)...)
	require.Eventually(t, func() bool {
		history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{leases[0].Address}, 0)
		require.NoError(t, err)
		_, _, ended := invariants.Find(history, func(e *bindings.LeaseEnded) bool { return e.Reason == uint8(market.EndedByCustomer) })
		// The session key's signature counts.
		_, _, settled := invariants.Find(history, func(e *bindings.LeaseSettled) bool { return e.Source == uint8(market.SourceReceipt) && e.Paid > 0 })
		return ended && settled
	}, 30*time.Second, 200*time.Millisecond)

	// The cap holds, and the key has no other powers.
	var listed struct {
		SessionKeys []struct{ Key, Cap, Spent, Left string }
	}
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "session", "list").Stdout), &listed))
	require.Len(t, listed.SessionKeys, 1)
	t.Logf("%+v", listed.SessionKeys[0])
	require.Contains(t, run(refusedByMarket, deploy("1.60", "A100", append(as, "--hours", "1")...)...).Stderr, "session key")
	run(wrongUse, append([]string{"credits", "withdraw", "1"}, as...)...)

	ok(t, n, customer, "session", "remove", robot.Path)
	require.Contains(t, run(refusedByMarket, deploy("1.60", "A100", as...)...).Stderr, "nobody's session key")
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}
