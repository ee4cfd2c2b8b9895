//go:build e2e

package scenario

import (
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	sdk "github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
)

// A machine is gone in the middle of a job. Keepers move what is left of its time to another; the client brings the
// command there, with the checkpoint that the first had put on chain, and stays until it is done. What was down is not
// paid.
func TestALeaseMovesWhenItsMachineFails(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(3)
	for i := range nodes { // a lease moves only where it costs no more
		nodes[i].GPU, nodes[i].Price = "A100", sdk.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Log: warnings(t),
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
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "10m",
			"--allow-simulated", "--migrate", "--run-to-completion", "--", "sh", "-c",
			`if [ -n "$GANTRY_CHECKPOINT" ]; then sleep 6; echo "went on from $GANTRY_CHECKPOINT"; exit 0; fi; echo began; sleep 300`)
		deployed <- result{out, err}
	}()
	var first sdk.Lease
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).Leases() {
			if l.State() == sdk.LeaseRunning {
				first = l
				return true
			}
		}
		return false
	}, 60*time.Second, 100*time.Millisecond)
	var dying *network.Machine
	for _, m := range n.Nodes {
		if m.Address == first.Node {
			dying = m
		}
	}
	require.NotNil(t, dying)
	checkpoint := [32]byte{0xab, 1, 2, 3}
	put, err := ix.LeaseCheckpoint(first, checkpoint)
	require.NoError(t, err)
	_, err = n.Sender().Send(t.Context(), customer.Key, []solana.PrivateKey{dying.Key.Key}, put)
	require.NoError(t, err)
	require.NoError(t, pause(t.Context(), 7*time.Second)) // some of it is verified
	require.NoError(t, n.Stop(t.Context(), dying.Name))
	stopped := time.Now()

	var got result
	select {
	case got = <-deployed:
	case <-time.After(120 * time.Second):
		t.Fatal("the deployment did not end")
	}
	require.NoError(t, got.err)
	t.Log(got.out.Stderr)
	require.Zero(t, got.out.Code)
	require.Contains(t, got.out.Stderr, "went on from "+hex.EncodeToString(checkpoint[:]))
	downtime := regexp.MustCompile(`after (\d+) s without a machine`).FindStringSubmatch(got.out.Stderr)
	require.NotNil(t, downtime)
	require.Equal(t, 1, strings.Count(got.out.Stderr, "moved"))

	history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{first.Address}, 0)
	require.NoError(t, err)
	_, moved, found := invariants.Find(history, func(e *bindings.LeaseMigrated) bool { return e.From == first.Address })
	require.True(t, found)
	require.Equal(t, checkpoint, moved.Checkpoint)
	require.Less(t, moved.DurationSecs, uint32(600))
	history, err = invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{moved.To}, 0)
	require.NoError(t, err)
	_, started, found := invariants.Find(history, func(e *bindings.LeaseStarted) bool { return e.Lease == moved.To })
	require.True(t, found)
	t.Logf("downtime: %.0f s by our clock, %s s by the leases; periods have %d s", time.Unix(started.StartedAt, 0).Sub(stopped).Seconds(),
		downtime[1], n.Params().PeriodSecs)
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}
