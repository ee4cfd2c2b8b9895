//go:build e2e

package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// incompleteFor is how long the endpoint's lists lack accounts after connections have broken.
const incompleteFor = 8 * time.Second

// The RPC endpoint of agents, keepers and gantry serve answers lists without accounts, or by null, as nodes do that
// build their index, while every connection breaks again and again and an agent starts anew. The job goes on, keepers
// still award orders and ask machines, and gantry serve tells that nothing is gone.
func TestAnIncompleteEndpointEndsNothing(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(3)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 2, Customers: 1, Nodes: nodes, Relay: true, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	served, err := n.StartServe(t.Context(), customer, "25")
	require.NoError(t, err)
	rent := func() {
		ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "30m", "--allow-simulated", "--detach", "--", "sh", "-c", "while :; do sleep 1; done")
	}
	rent()
	first, on := firstRunning(t, n)
	var before map[int]bool
	require.Eventually(t, func() bool {
		before, err = jobs(n.Dir(), on.Name)
		return err == nil && len(before) > 0
	}, time.Minute, 100*time.Millisecond, "the job runs")
	require.Eventually(t, func() bool { return len(changesOf(t, served)) > 0 }, 20*time.Second, time.Second, "serve tells of the lease")

	require.NoError(t, n.InjectFaults(fault.Faults{Empty: 1}))
	for range 3 {
		require.NoError(t, n.DropSockets())
		require.NoError(t, pause(t.Context(), incompleteFor))
		unharmed(t, n, on.Name, first, before)
	}
	require.Greater(t, n.InjectedFaults().Emptied, uint64(10))
	require.NotEmpty(t, linesAbout(t, n, on.Name, "answered incompletely"), "the agent says what happened")

	rent() // keepers still have their market, and machines see new orders
	require.NoError(t, n.Kill(on.Name))
	require.Eventually(t, func() bool { return len(serves(t, n, on.Name)) > 1 }, time.Minute, 100*time.Millisecond, "it starts with an empty list")
	unharmed(t, n, on.Name, first, before)

	require.NoError(t, n.InjectFaults(fault.Faults{}))
	require.NoError(t, n.DropSockets())
	require.NoError(t, pause(t.Context(), incompleteFor))
	unharmed(t, n, on.Name, first, before)
	for _, change := range changesOf(t, served) {
		require.NotEqual(t, "gone", change)
	}
	require.Empty(t, linesAbout(t, n, on.Name, "node stops the job"))

	ok(t, n, customer, "stop", first.Address.String())
	require.Eventually(t, func() bool {
		left, err := jobs(n.Dir(), on.Name)
		return err == nil && len(left) < len(before)+1 && !contains(left, before)
	}, time.Minute, 100*time.Millisecond, "what ends in truth ends here")
}

func contains(all, some map[int]bool) bool {
	for pid := range some {
		if !all[pid] {
			return false
		}
	}
	return true
}

// unharmed checks that a lease and its job run as before, and that nobody was punished.
func unharmed(t *testing.T, n *network.Network, name string, l market.Lease, job map[int]bool) {
	t.Helper()
	now, err := jobs(n.Dir(), name)
	require.NoError(t, err)
	require.True(t, contains(now, job), "the job runs: %v, now %v", job, now)
	v := snapshotOf(t, n)
	cur, found := v.Lease(l.Address)
	require.True(t, found)
	require.Equal(t, market.LeaseRunning, cur.State())
	v.Read(func(a *view.Accounts) { require.Empty(t, a.Faults) })
}

// linesAbout are the lines of a process's log that hold a text.
func linesAbout(t *testing.T, n *network.Network, name, text string) (out []string) {
	t.Helper()
	raw, err := os.ReadFile(n.LogPath(name))
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

// changesOf are the changes that gantry serve has told so far.
func changesOf(t *testing.T, served network.Served) (out []string) {
	t.Helper()
	token, err := os.ReadFile(filepath.Clean(served.TokenFile))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, served.URL+"/v1/events?after=0", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	text, err := io.ReadAll(res.Body)
	if !errors.Is(err, context.DeadlineExceeded) { // the stream has no end
		require.NoError(t, err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		var e struct{ Change string }
		if data, found := strings.CutPrefix(line, "data:"); found && json.Unmarshal([]byte(data), &e) == nil && e.Change != "" {
			out = append(out, e.Change)
		}
	}
	return out
}
