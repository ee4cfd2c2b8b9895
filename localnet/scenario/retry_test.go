//go:build e2e

package scenario

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A machine gives notice of two interruptible leases and leaves. A command attends one of them, and a server has bought the other. The
// server is killed before the lease ends. No other machine takes such work then. When one does, both go on there: each by one order for
// the time that was left, with the job that was ordered. A lease that its customer stops is not ordered again.
func TestAJobContinuesWhenItsMachineLeaves(t *testing.T) {
	t.Parallel()
	n, customer := sealedMarket(t, network.Config{Nodes: []network.NodeSpec{
		{Name: "node-1", Provider: 0, GPU: "A100", Count: 2, Region: "us-west-2", Price: 1_200_000},
		{Name: "node-2", Provider: 1, GPU: "A100", Count: 2, Region: "us-west-2", Price: 1_400_000},
	}})
	leaves, other := n.Nodes[0], n.Nodes[1]
	s := newTeamServer(t, n, map[string]market.USDC{"main": 5 * market.OneUSDC})
	ok(t, n, n.Keys.Providers[0], "node", "update", leaves.Address.String(), "--spot", "50")
	require.NoError(t, pause(t.Context(), (market.AwardViewSecs+3)*time.Second))

	ran := make(chan struct{})
	var out, said bytes.Buffer
	cmd := n.Command(t.Context(), customer, "--json", "deploy", "--gpu", "A100", "--duration", "20m", "--allow-simulated", "--spot", "--retry",
		"--max-price", "0.8", "--", "sh", "-c", "echo attended; sleep 1200")
	cmd.Stdout, cmd.Stderr = &out, &said
	require.NoError(t, cmd.Start())
	go func() { defer close(ran); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ran
		if t.Failed() {
			t.Logf("the command said: %s", said.String())
		}
	})
	order := movingOrder("main")
	order["spot"], order["retry"], order["maxPricePerGpuHour"] = true, true, "0.8"
	delete(order, "migrate")
	bought := s.buy("main", "retried", order)
	require.Equal(t, leaves.Address, bought.Node)
	running := func(of *network.Machine) (all []market.Lease) {
		for _, l := range snapshotOf(t, n).Leases() {
			if l.Node == of.Address && l.State() == market.LeaseRunning {
				all = append(all, l)
			}
		}
		return all
	}
	require.Eventually(t, func() bool { return len(running(leaves)) == 2 }, time.Minute, 200*time.Millisecond)
	before := running(leaves)

	now := time.Now()
	setHours(t, n, leaves, now.Add(12*time.Hour), now.Add(13*time.Hour))
	require.Eventually(t, func() bool { return leaseNow(t, n, bought.Address.String()).NoticeAt != 0 }, time.Minute, 200*time.Millisecond)
	s.kill()
	ended := map[solana.PublicKey]market.Lease{}
	require.Eventually(t, func() bool {
		for _, l := range before {
			if cur := leaseNow(t, n, l.Address.String()); cur.State() == market.LeaseEnded {
				ended[l.Address] = cur
			}
		}
		return len(ended) == 2
	}, 2*time.Minute, 200*time.Millisecond)
	s.start()
	require.NoError(t, pause(t.Context(), 8*time.Second)) // they try, and no machine takes such work
	require.Empty(t, running(other))
	ok(t, n, n.Keys.Providers[1], "node", "update", other.Address.String(), "--spot", "50")
	require.Eventually(t, func() bool { return len(running(other)) == 2 }, 2*time.Minute, 200*time.Millisecond)

	left := map[uint32]bool{}
	for _, l := range ended {
		require.Equal(t, market.EndedByProvider, l.Reason())
		left[uint32(l.FundedUntil-l.EndedAt)] = true
	}
	var servers, attended market.Lease
	for _, l := range running(other) {
		require.True(t, left[l.DurationSecs], "%d s of %v", l.DurationSecs, left)
		require.Equal(t, "0.70", market.PricePerHour(l.Price).String())
	}
	require.Eventually(t, func() bool {
		for _, l := range running(other) {
			out, err := n.GantryText(t.Context(), customer, "logs", l.Address.String())
			require.NoError(t, err)
			switch out.Stdout {
			case "main works\n":
				servers = l
			case "attended\n":
				attended = l
			}
		}
		return servers.Address != attended.Address && !servers.Address.IsZero() && !attended.Address.IsZero()
	}, time.Minute, time.Second)

	ok(t, n, customer, "stop", attended.Address.String())
	select {
	case <-ran:
	case <-time.After(time.Minute):
		t.Fatal("the command stays after its lease was stopped")
	}
	require.Zero(t, cmd.ProcessState.ExitCode(), said.String())
	require.Equal(t, 2, strings.Count(said.String()+out.String(), "attended\n"), "the job ran on both machines: %s", said.String())
	var result struct {
		Order   string
		Leases  []struct{ Address string }
		Earlier []struct{ Order string } `json:"earlierLeases"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &result), out.String())
	require.Equal(t, attended.Order.String(), result.Order)
	require.Len(t, result.Earlier, 1)
	require.NotEqual(t, result.Order, result.Earlier[0].Order)

	require.NoError(t, pause(t.Context(), 5*time.Second))
	require.Len(t, running(other), 1, "a lease that its customer has stopped is not ordered again")
	require.Equal(t, servers.Address, running(other)[0].Address, "each job runs once")
}
