//go:build e2e

package scenario

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// crashes is how often the agent is killed.
const crashes = 10

// An agent with a lease that may move is restarted in order, which takes twenty seconds, and is killed ten times and started
// again at once, as a service manager does. The lease stays, nobody votes, and nothing is slashed.
func TestARestartOfAnAgentMovesNothing(t *testing.T) {
	t.Parallel()
	n := hourly(t, 4)
	customer := n.Keys.Customers[0]
	deployed := rentForLong(t, n)
	first, on := firstRunning(t, n)
	stake := snapshotOf(t, n).Providers()

	require.NoError(t, n.Stop(t.Context(), on.Name))
	require.NoError(t, pause(t.Context(), 20*time.Second))
	require.NoError(t, n.StartAgent(t.Context(), on))
	require.Eventually(t, func() bool { return len(silences(t, n)) > 0 }, time.Minute, 100*time.Millisecond, "keepers find it again")
	untouched(t, n, first)
	inOrder := slices.Max(silences(t, n))

	before := len(silences(t, n))
	var served []time.Duration
	for range crashes {
		starts := len(serves(t, n, on.Name))
		killed := time.Now()
		require.NoError(t, n.Kill(on.Name))
		require.Eventually(t, func() bool { return len(serves(t, n, on.Name)) > starts }, time.Minute, 100*time.Millisecond, "it serves again")
		served = append(served, serves(t, n, on.Name)[starts].Sub(killed).Round(time.Millisecond))
		require.NoError(t, pause(t.Context(), 11*time.Second)) // the supervisor's pause before a start is short again
		untouched(t, n, first)
	}
	t.Logf("restart in order: %s without an answer; from SIGKILL until it answers: %s; silences that keepers saw in that time: %s", inOrder, served, silences(t, n)[before:])

	ok(t, n, customer, "stop", first.Address.String())
	require.NoError(t, <-deployed)
	untouched(t, n, first)
	for _, p := range snapshotOf(t, n).Providers() {
		for _, before := range stake {
			require.False(t, before.Address == p.Address && before.Stake != p.Stake, "stake of %s: %d, then %d", p.Address, before.Stake, p.Stake)
		}
	}
}

// An agent is restarted in order in the moment in which it has sent the start of a lease, and may not have seen it on chain.
// Nobody votes, and the job runs there once the agent is back.
func TestARestartWhileALeaseStarts(t *testing.T) {
	t.Parallel()
	n := hourly(t, 4)
	deployed := rentForLong(t, n)
	var on *network.Machine
	require.Eventually(t, func() bool {
		i := slices.IndexFunc(n.Nodes, func(m *network.Machine) bool {
			return len(linesWith(t, n, m.Name, "node starts the lease on chain")) > 0
		})
		if i >= 0 {
			on = n.Nodes[i]
		}
		return on != nil
	}, time.Minute, 5*time.Millisecond, "a lease is about to start")
	require.NoError(t, n.Stop(t.Context(), on.Name))
	require.NoError(t, pause(t.Context(), 12*time.Second))
	require.NoError(t, n.StartAgent(t.Context(), on))
	first, at := firstRunning(t, n)
	require.Equal(t, on.Name, at.Name)
	require.Eventually(t, func() bool { return len(linesWith(t, n, on.Name, "job started")) == 1 }, time.Minute, 100*time.Millisecond, "the job runs")
	ok(t, n, n.Keys.Customers[0], "stop", first.Address.String())
	require.NoError(t, <-deployed)
	untouched(t, n, first)
}

// A machine stands still for as long as its lease needs to move, and goes on. Its agent finds out and ends the job: one job
// runs, and it is paid for once.
func TestAMachineThatStoodStillEndsItsJob(t *testing.T) {
	t.Parallel()
	n := hourly(t, 4)
	customer := n.Keys.Customers[0]
	deployed := rentForLong(t, n)
	first, on := firstRunning(t, n)
	require.Eventually(t, func() bool { return len(everythingOf(t, n, on)) > 1 }, time.Minute, 50*time.Millisecond, "the job starts")
	require.NoError(t, pause(t.Context(), 5*time.Second)) // some of it is paid for
	still := everythingOf(t, n, on)
	require.Greater(t, len(still), 1, "the agent and what runs the job")
	stopped := time.Now().Unix()
	for _, pid := range still {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	var second market.Lease
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).Leases() {
			if l.State() == market.LeaseRunning && l.Continues == 1 {
				second = l
				return true
			}
		}
		return false
	}, 2*time.Minute, 100*time.Millisecond, "the lease moves")
	for _, pid := range still {
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	}
	went := time.Now()
	require.Eventually(t, func() bool { return len(everythingOf(t, n, on)) == 1 }, time.Minute, 50*time.Millisecond, "only the agent is left there")
	t.Logf("the job that had moved ended %s after its machine went on", time.Since(went).Round(10*time.Millisecond))

	ok(t, n, customer, "stop", second.Address.String())
	require.NoError(t, <-deployed)
	history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{first.Address, second.Address}, 0)
	require.NoError(t, err)
	_, moved, found := invariants.Find(history, func(e *bindings.LeaseMigrated) bool { return e.From == first.Address })
	require.True(t, found)
	require.Equal(t, second.Address, moved.To)
	_, failed, found := invariants.Find(history, func(e *bindings.LeaseFailed) bool { return e.Lease == first.Address })
	require.True(t, found)
	require.LessOrEqual(t, failed.EndedAt, stopped+1, "nothing is paid after the machine stood still")
	require.GreaterOrEqual(t, second.StartedAt, failed.EndedAt, "no second is paid twice")
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}

// hourly is a market of like machines whose periods last an hour, so that no report moves a lease.
func hourly(t *testing.T, count int) *network.Network {
	t.Helper()
	params := seed.Params()
	params.PeriodSecs = 3600
	params.StartDeadlineSecs = 120 // an agent that is restarted before its lease starts has time for it
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	return likeMachines(t, count, network.Config{Params: &params, KeeperFlags: []string{"--check-interval", "2s"}})
}

// rentForLong has the first customer rent a machine with a lease that may move, for a job that ends when it is told to: in a
// container where this machine has what that needs. What it yields is how the command of the customer ended.
func rentForLong(t *testing.T, n *network.Network) <-chan error {
	t.Helper()
	rent := []string{"deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "30m", "--allow-simulated", "--migrate"}
	if _, err := exec.LookPath("runsc"); err == nil && os.Geteuid() == 0 {
		image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
		rent = append(rent, "--network", "none", "--image", image, "--", "wait")
	} else {
		t.Log("runsc or root is missing: the job is a process")
		rent = append(rent, "--", "sh", "-c", "while :; do sleep 1; done")
	}
	ended := make(chan error, 1)
	go func() {
		_, err := n.Gantry(t.Context(), n.Keys.Customers[0], rent...)
		ended <- err
	}()
	return ended
}

// untouched checks that a lease runs where it did, and that no keeper voted and nothing was punished.
func untouched(t *testing.T, n *network.Network, first market.Lease) {
	t.Helper()
	v := snapshotOf(t, n)
	l, found := v.Lease(first.Address)
	require.True(t, found)
	require.Zero(t, l.Away)
	require.NotEqual(t, market.LeaseFailed, l.State())
	v.Read(func(a *view.Accounts) {
		require.Empty(t, a.Outages, "a keeper has voted")
		require.Empty(t, a.Faults)
	})
}

// silences are those that keepers saw end: from the last answer before to the first one after.
func silences(t *testing.T, n *network.Network) (out []time.Duration) {
	t.Helper()
	for _, k := range n.Keys.Keepers {
		for _, l := range linesWith(t, n, k.Name, "a node that did not answer answers again") {
			out = append(out, time.Duration(l.Silent*float64(time.Millisecond)))
		}
	}
	return out
}

// serves are the moments from which on a machine's agent answered.
func serves(t *testing.T, n *network.Network, machine string) (out []time.Time) {
	t.Helper()
	for _, l := range linesWith(t, n, machine, "agent serves") {
		out = append(out, l.Time)
	}
	return out
}

// logLine is what is read of a line of a log.
type logLine struct {
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
	Silent  float64   `json:"silent_ms"`
}

// linesWith are the lines with a message in a process's log.
func linesWith(t *testing.T, n *network.Network, name, message string) (out []logLine) {
	t.Helper()
	f, err := os.Open(n.LogPath(name))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l logLine
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Message == message {
			out = append(out, l)
		}
	}
	require.NoError(t, lines.Err())
	return out
}

// everythingOf are the processes of a machine: its agent, and all that runs its jobs.
func everythingOf(t *testing.T, n *network.Network, m *network.Machine) (out []int) {
	t.Helper()
	found, err := ofNetwork(n.DataDir(m.Name))
	require.NoError(t, err)
	for pid := range found {
		out = append(out, pid)
	}
	return out
}
