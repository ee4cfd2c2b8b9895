package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// becomes waits for the node's status on chain.
func (a *agent) becomes(status market.NodeStatus) {
	a.w.t.Helper()
	ctx, cancel := context.WithTimeout(a.w.t.Context(), 40*time.Second)
	defer cancel()
	require.NoError(a.w.t, a.w.view.WaitFor(ctx, func(v *view.View) bool {
		n, ok := v.Node(a.node)
		return ok && n.State() == status
	}), "the node does not become %s", status)
}

// hours are flags for hours from one time from now to another.
func hours(from, to time.Duration) []string {
	now := time.Now().UTC()
	return []string{"--time-zone", "UTC", "--hours", now.Add(from).Format("15:04") + "-" + now.Add(to).Format("15:04")}
}

func containsAll(text string, all ...string) bool {
	for _, part := range all {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// Hours that are over end no lease, and no answers to keepers. When the lease is over the node leaves the market; it is back within its
// hours, unless its owner has said otherwise.
func TestALeaseOutlastsTheHours(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0, hours(-2*time.Hour, 10*time.Hour)...)
	a.start()
	spec := job("sleep 600")
	l := w.order(a.node, spec, 600, false)
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	l = w.until(l.Address, "it runs", running)
	a.stop()

	a.args = hours(10*time.Hour, 11*time.Hour)
	a.start()
	a.becomes(market.NodeDraining)
	live, err := w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
	require.Len(t, live.Liveness.Leases, 1)
	require.Equal(t, messages.LeaseRunning, live.Liveness.Leases[0].State)
	at := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS}
	require.Eventually(t, func() bool {
		_, body := a.figures("/metrics")
		return containsAll(body, "gantry_agent_offering 0", `gantry_agent_not_offering{reason="hours"} 1`)
	}, 20*time.Second, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		out := a.command(append([]string{"status"}, at...)...)
		return containsAll(out, "offers     no: outside of the hours ", "(UTC) until ") && !containsAll(out, "no new leases while")
	}, 20*time.Second, 500*time.Millisecond)
	still, found := w.view.Lease(l.Address)
	require.True(t, running(still, found))

	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: w.keys.Customers[0].Address(), Lease: l})
	w.send(w.keys.Customers[0], instruction, err)
	w.until(l.Address, "it ended", ended)
	a.becomes(market.NodeHibernated)
	live, err = w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err, "a hibernated node answers all the same")
	require.Empty(t, live.Liveness.Leases)
	a.stop()
	a.args = nil // no hours: what the agent took out it brings back
	a.start()
	a.becomes(market.NodeActive)
	mark := offer.Mark(filepath.Join(a.dir, "withdrawn"))
	require.Eventually(t, func() bool { return !mark.Set() }, 30*time.Second, 50*time.Millisecond)
	a.stop()

	a.args = hours(10*time.Hour, 11*time.Hour)
	a.start()
	a.becomes(market.NodeHibernated)
	require.True(t, mark.Set())
	a.command(append([]string{"drain"}, at...)...)
	a.becomes(market.NodeDraining)
	require.False(t, mark.Set())
	a.stop()
	a.args = nil
	a.start()
	require.Eventually(t, func() bool {
		_, body := a.figures("/metrics")
		return containsAll(body, "gantry_agent_offering 0", `gantry_agent_not_offering{reason="status"} 1`)
	}, 20*time.Second, 100*time.Millisecond, "what the owner set stays")
}

// A machine on whose GPUs its owner computes leaves the market, and is back after the quiet time. What computes for a lease is not its owner.
func TestAMachineInUse(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	file := filepath.Join(w.dir, "used")
	a := w.newAgent(0, "--pause-when-used", "--quiet-time", "1s", "--simulate-used-gpu-file", file)
	a.start()
	shows := func(lines ...string) {
		t.Helper()
		require.Eventually(t, func() bool { _, body := a.figures("/metrics"); return containsAll(body, lines...) }, 30*time.Second, 100*time.Millisecond)
	}
	shows("gantry_agent_offering 1")
	require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600))
	a.becomes(market.NodeHibernated)
	shows("gantry_agent_offering 0", `gantry_agent_not_offering{reason="used"} 1`)
	require.Contains(t, a.out.String(), fmt.Sprintf("process %d computes on SIM-", os.Getpid()))
	require.NoError(t, os.Remove(file))
	a.becomes(market.NodeActive)
	shows("gantry_agent_offering 1")

	spec := job("sleep 600")
	l := w.order(a.node, spec, 600, false)
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	w.until(l.Address, "it runs", running)
	require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600))
	time.Sleep(12 * time.Second) // three looks
	shows("gantry_agent_offering 1")
}
