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

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// A machine is gone in the middle of a job. Keepers move what is left of its time to another; the client brings the
// command there, with the checkpoint that the first had put on chain, and stays until it is done. What was down is not
// paid.
func TestALeaseMovesWhenItsMachineFails(t *testing.T) {
	t.Parallel()
	n := likeMachines(t, 3, network.Config{})
	m := moveByStopping(t, n)
	downtime := regexp.MustCompile(`after (\d+) s without a machine`).FindStringSubmatch(m.said)
	require.NotNil(t, downtime)
	t.Logf("downtime: %d s by our clock, %s s by the leases; periods have %d s", m.secs, downtime[1], n.Params().PeriodSecs)
}

// The same in a market whose periods last an hour, so that no report says it in time. Keepers vote that the machine is away.
func TestALeaseMovesBeforeTheReport(t *testing.T) {
	t.Parallel()
	params := seed.Params()
	params.PeriodSecs = 3600
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	n := likeMachines(t, 4, network.Config{Params: &params, KeeperFlags: []string{"--check-interval", "2s"}})
	m := moveByStopping(t, n)
	t.Logf("the job went on %d s after its machine was gone", m.secs)
}

// likeMachines is a market of machines that cost the same: a lease moves only where it costs no more.
func likeMachines(t *testing.T, count int, c network.Config) *network.Network {
	t.Helper()
	nodes := network.DefaultNodes(count)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	c.Engine, c.Dir, c.Keepers, c.Customers, c.Nodes, c.Log = kind(t), stateDir(t), 3, 1, nodes, warnings(t)
	n, err := network.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	ok(t, n, n.Keys.Customers[0], "credits", "add", "10")
	return n
}

// move is what became of a lease whose machine was gone.
type move struct {
	said string // by the customer's client
	secs int64  // from the end of the machine to the start of the next lease
}

// moveByStopping rents a machine, has it put down a checkpoint, stops it, and waits until the job has gone on elsewhere.
func moveByStopping(t *testing.T, n *network.Network) move {
	t.Helper()
	customer := n.Keys.Customers[0]
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
	first, dying := firstRunning(t, n)
	checkpoint := [32]byte{0xab, 1, 2, 3}
	put, err := ix.LeaseCheckpoint(first, checkpoint)
	require.NoError(t, err)
	_, err = n.Sender().Send(t.Context(), customer.Key, []solana.PrivateKey{dying.Key.Key}, put)
	require.NoError(t, err)
	require.NoError(t, pause(t.Context(), 7*time.Second)) // some of it is verified
	require.NoError(t, n.Fail(t.Context(), dying.Name))
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
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
	return move{got.out.Stderr, started.StartedAt - stopped.Unix()}
}

// firstRunning waits for a lease that runs, and returns it with its machine.
func firstRunning(t *testing.T, n *network.Network) (first market.Lease, on *network.Machine) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).Leases() {
			if l.State() == market.LeaseRunning {
				first = l
				return true
			}
		}
		return false
	}, 60*time.Second, 100*time.Millisecond)
	for _, m := range n.Nodes {
		if m.Address == first.Node {
			on = m
		}
	}
	require.NotNil(t, on)
	return first, on
}
