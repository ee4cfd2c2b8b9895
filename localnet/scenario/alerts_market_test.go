//go:build e2e

package scenario

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/p2p"
)

func needsPromtool(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("SKIPPED: promtool is missing: scripts/toolchain.sh promtool")
	}
}

// Alerts about what the market does with a machine, and about strangers, by the daemons' own figures, as in
// TestAlertsFireByTheirFaults.
func TestAlertsOfTheMarketFireByTheirFaults(t *testing.T) {
	long.Test(t, "alerts one by one")
	needsPromtool(t)
	ctx := t.Context()
	nodes := network.DefaultNodes(2)
	nodes[1].Slow = 8 // it claims an H100: the demo says why eight
	n, err := network.Start(ctx, network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 4, Customers: 1, Nodes: nodes, Models: seed.Calibrated(), Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(ctx))
	operator := n.Keys.Customers[0]
	ok(t, n, operator, "credits", "add", "1")
	listens := "/ip4/127.0.0.1/tcp/" + portOf(freeAddr(t))
	startGateway(t, n, operator, "--listen", listens, "--tls", freeAddr(t), "--ssh", "off")
	r := record(t, n.Metrics, map[string]string{"node-1": "gantry-agent", "node-2": "gantry-agent", network.GatewayName: "gantry-gateway"})
	var alerts []alert
	quiet := func() int { return r.now() - 1 }
	lasts := func(a alert, ticks int) {
		t.Helper()
		alerts = append(alerts, r.lasts(t, a, ticks))
	}

	// A machine that claims more than it computes is suspended, and a part of its stake is held.
	r.shown(t, "node-2", "gantry_agent_pending_faults", func(v float64) bool { return v > 0 })
	held := r.now() - 1
	lasts(alert{daemon: "agent", name: "GantryAgentFaultPending", instance: "node-2", step: 15 * time.Second, quiet: 0}, held)
	r.shown(t, "node-2", "gantry_agent_node_status", equals(1), `status="suspended"`)
	lasts(alert{daemon: "agent", name: "GantryAgentSuspended", instance: "node-2", step: 15 * time.Second, quiet: 0}, r.now()-1)

	// Strangers take the places that the gateway has for them, each with a key of its own.
	r.shown(t, network.GatewayName, "gantry_gateway_strangers", equals(0))
	from := quiet()
	flood, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	strangers(flood, t, &wg, operator.Address(), listens)
	r.shown(t, network.GatewayName, "gantry_gateway_strangers", func(v float64) bool { return v > 100 })
	lasts(alert{daemon: "gateway", name: "GantryGatewayStrangers", instance: network.GatewayName, step: time.Minute, quiet: from}, r.now()-from+14)
	end()
	wg.Wait()

	// No keeper asks any more. The rule's quarter of an hour is a quarter of a minute here.
	r.shown(t, "node-1", "gantry_agent_question_age_seconds", func(v float64) bool { return v < 5 })
	from = quiet()
	for _, k := range n.Keys.Keepers {
		require.NoError(t, n.Stop(ctx, k.Name))
	}
	r.shown(t, "node-1", "gantry_agent_question_age_seconds", func(v float64) bool { return v > 15 })
	lasts(alert{
		daemon: "agent", name: "GantryAgentNotAsked", instance: "node-1", step: 15 * time.Second, quiet: from,
		shorter: [2]string{"gantry_agent_question_age_seconds > 900", "gantry_agent_question_age_seconds > 15"},
	}, r.now()-from)
	for _, a := range alerts {
		t.Run(a.name, func(t *testing.T) { r.judge(t, a) })
	}
}

// A keeper whose checks in flight are fewer than its machines leaves checks out while none of them answers. One that has room for more
// does not, of the same machines.
func TestAnOverloadedKeeperRaisesItsAlert(t *testing.T) {
	long.Test(t, "alerts one by one")
	needsPromtool(t)
	ctx := t.Context()
	params := seed.Params()
	params.PeriodSecs = 60 // longer than the fault: no report suspends a machine meanwhile
	params.ReportRetentionSecs = 6*params.PeriodSecs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	const overloaded, other = "keeper-1", "keeper-2"
	n, err := network.Start(ctx, network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 2, Nodes: network.DefaultNodes(6), Params: &params, Log: warnings(t),
		KeeperFlags: []string{"--check-interval", "1500ms", "--check-timeout", "1500ms"},
		Flags:       map[string][]string{overloaded: {"--checks-at-once", "3"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(ctx))
	r := record(t, n.Metrics, map[string]string{overloaded: "gantry-keeper", other: "gantry-keeper"})
	for _, k := range []string{overloaded, other} {
		r.shown(t, k, "gantry_keeper_nodes_watched", equals(6), `duty="all"`)
		r.shown(t, k, "gantry_keeper_checks_skipped_total", equals(0))
	}
	from := r.now() - 1
	for _, m := range n.Nodes {
		pid, err := n.Pid(m.Name)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // so that they end
	}
	r.shown(t, overloaded, "gantry_keeper_checks_skipped_total", func(v float64) bool { return v > 0 })
	a := r.lasts(t, alert{daemon: "keeper", name: "GantryKeeperOverloaded", instance: overloaded, step: time.Minute, quiet: from}, r.now()-from+12)
	r.judge(t, a)
	r.judgeQuiet(t, alert{daemon: "keeper", name: "GantryKeeperOverloaded", instance: other, step: time.Minute, quiet: a.fires})
}

// A machine that is measured below its class leaves the market before that costs it stake, and its owner is told twice. An order
// for its model reaches nothing then. Its owner brings it back, and it leaves again while the row of slow periods grows.
func TestASlowMachineLeavesTheMarket(t *testing.T) {
	needsPromtool(t)
	ctx := t.Context()
	const slow = "node-2"
	nodes := network.DefaultNodes(2)
	nodes[1].Slow = 8
	n, err := network.Start(ctx, network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 4, Customers: 1, Nodes: nodes, Models: seed.Calibrated(), Log: warnings(t),
		Flags: map[string][]string{slow: {"--stay-when-slow=false"}}, // as a machine of a real market is run
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(ctx))
	r := record(t, n.Metrics, map[string]string{"node-1": "gantry-agent", slow: "gantry-agent"})
	r.shown(t, slow, "gantry_agent_slow_periods", func(v float64) bool { return v > 0 })
	tells := r.lasts(t, alert{daemon: "agent", name: "GantryAgentSlow", instance: slow, step: 15 * time.Second, quiet: 0}, r.now()-1)
	r.shown(t, slow, "gantry_agent_not_offering", equals(1), `reason="slow"`)
	left := r.lasts(t, alert{daemon: "agent", name: "GantryAgentLeftSlow", instance: slow, step: 15 * time.Second, quiet: tells.fires}, r.now()-1-tells.fires)
	r.judge(t, tells)
	r.judge(t, left)
	r.judgeQuiet(t, alert{daemon: "agent", name: "GantryAgentSlow", instance: "node-1", step: 15 * time.Second, quiet: left.fires})

	machine, err := n.Machine(slow)
	require.NoError(t, err)
	params := seed.Params()
	limit := market.SlowPeriods(&params)
	record := func() market.Node {
		node, known := snapshotOf(t, n).Node(machine.Address)
		require.True(t, known)
		return node
	}
	var out market.Node
	require.Eventually(t, func() bool { out = record(); return out.State() != market.NodeActive }, time.Minute, 200*time.Millisecond)
	require.Less(t, out.SlowPeriods, limit, "it left before its stake was touched")
	require.Zero(t, out.PendingFaults)
	t.Logf("left after %d slow periods of %d: %s", out.SlowPeriods, limit, out.FiguresText())
	// The reports of what was measured before it left may come after; then the row grows no more.
	require.NoError(t, pause(ctx, 3*seed.Period))
	out = record()
	require.Less(t, out.SlowPeriods, limit)
	require.NoError(t, pause(ctx, 3*seed.Period))
	require.Equal(t, out.SlowPeriods, record().SlowPeriods)
	require.Zero(t, record().PendingFaults)

	// Between the second time and the fault is one report here, where six slow periods in a row are one; a real market takes sixteen.
	require.NoError(t, n.ActivateNode(ctx, machine))
	require.Eventually(t, func() bool {
		node := record()
		return node.State() == market.NodeActive
	}, time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool {
		node := record()
		return node.State() != market.NodeActive
	}, 2*time.Minute, 200*time.Millisecond, "it leaves again when its row has grown")
}

// strangers are peers that no one knows, each there for less than the time that they are let. One key from each of 128 addresses, of
// four networks with four sites each, are as many as a gateway takes.
func strangers(ctx context.Context, t *testing.T, wg *sync.WaitGroup, gateway [32]byte, at string) {
	t.Helper()
	id, err := p2p.PeerID(gateway)
	require.NoError(t, err)
	address, err := ma.NewMultiaddr(at)
	require.NoError(t, err)
	for i := range 128 {
		own := fmt.Sprintf("/ip4/127.%d.%d.%d/tcp/0", 7+i%4, i/4%4, i/16+1)
		wg.Go(func() {
			for first := true; ctx.Err() == nil; first = false {
				h, err := libp2p.New(libp2p.ListenAddrStrings(own), libp2p.DisableMetrics(), libp2p.DisableRelay())
				if err != nil {
					t.Errorf("a stranger: %v", err)
					return
				}
				_ = h.Connect(ctx, peer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{address}}) // refused while another one has its place
				for began, stays := time.Now(), 20*time.Second; len(h.Network().Conns()) > 0 && time.Since(began) < stays; {
					if first {
						stays = 5*time.Second + time.Duration(i/16)*2*time.Second // so that they do not all go at once
					}
					if pause(ctx, 100*time.Millisecond) != nil {
						break
					}
				}
				_ = h.Close()
			}
		})
	}
}
