//go:build e2e

package scenario

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// Machines of leases that a server has bought fail, one while the server runs and one while it is away. No command attends the
// leases: keepers move them, and the server brings the jobs to the next machines, each with the key of the budget that has bought.
func TestServersMoveTheirLeases(t *testing.T) {
	t.Parallel()
	n := likeMachines(t, 4, network.Config{})
	s := newTeamServer(t, n, map[string]market.USDC{"main": 5 * market.OneUSDC, "ops": 5 * market.OneUSDC})
	for _, budget := range []string{"main", "ops"} {
		first := s.buy(budget, "moving", movingOrder(budget))
		require.Eventually(t, func() bool { return s.output(budget, first.Address) == budget+" works\n" }, 30*time.Second, 200*time.Millisecond)
		away := budget == "ops"
		if away {
			s.kill()
		}
		require.NoError(t, n.Fail(t.Context(), machineOf(t, n, first.Node).Name))
		next := movedFrom(t, n, first)
		if away {
			s.start()
		}
		require.Eventually(t, func() bool { return s.output(budget, next.Address) == budget+" works\n" }, 60*time.Second, 200*time.Millisecond)
		for address, reason := range map[solana.PublicKey]string{first.Address: service.WhyMoved, next.Address: service.WhyRunning, first.Order: service.WhyAwarded} {
			status, raw, err := s.ask(http.MethodGet, "/v1/why/"+address.String(), s.tokens[budget], "", nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, "%s", raw)
			var why service.Why
			require.NoError(t, json.Unmarshal(raw, &why))
			require.Equal(t, reason, why.Reason, "%s", raw)
		}
	}
	var running int
	for _, l := range snapshotOf(t, n).Leases() {
		if l.State() == market.LeaseRunning {
			running++
		}
	}
	require.Equal(t, 2, running, "each lease runs once")
}

// A server is killed when it has sent an order. Nobody repeats the request: the server brings the job when it runs again.
func TestAServerFinishesWhatItBegan(t *testing.T) {
	t.Parallel()
	n := likeMachines(t, 1, network.Config{})
	s := newTeamServer(t, n, map[string]market.USDC{"main": 5 * market.OneUSDC})
	s.arm(failpoint{sends: 1})
	status, raw, err := s.ask(http.MethodPost, "/v1/orders", s.tokens["main"], "begun", movingOrder("main"))
	require.Error(t, err, "%d %s", status, raw)
	s.kill() // it is dead: this waits
	s.start()
	first, _ := firstRunning(t, n)
	require.Eventually(t, func() bool { return s.output("main", first.Address) == "main works\n" }, 30*time.Second, 200*time.Millisecond)
}

// A server extends a lease up to the order's budget, also when it was killed in between.
func TestAServerExtendsUpToTheBudget(t *testing.T) {
	t.Parallel()
	n := likeMachines(t, 1, network.Config{})
	s := newTeamServer(t, n, map[string]market.USDC{"main": 5 * market.OneUSDC})
	order := movingOrder("main")
	// 0.00356 USDC for the order at its highest price leave 0.00644: 17 s at 1.30 USDC per GPU-hour.
	order["seconds"], order["untilStopped"], order["budget"] = 8, true, "0.01"
	l := s.buy("main", "long", order)
	has := func(seconds int64) func() bool {
		return func() bool {
			cur, ok := snapshotOf(t, n).Lease(l.Address)
			return ok && cur.FundedUntil-cur.StartedAt == seconds
		}
	}
	require.Eventually(t, has(16), time.Minute, 100*time.Millisecond)
	s.kill()
	s.start()
	require.Eventually(t, has(8+17), time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		cur, ok := snapshotOf(t, n).Lease(l.Address)
		return !ok || cur.State() == market.LeaseEnded
	}, time.Minute, 200*time.Millisecond)
}

// A machine fails, and no command attends its lease. The next one continues with the volume, from the snapshot in the server's bucket.
func TestAServersVolumeMovesWithItsLease(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	n := likeMachines(t, 3, network.Config{})
	bucket := s3test.Start(t, nil)
	require.NoError(t, n.KeepBucketKeys(seed.Wallet{Name: "server"}, s3test.AccessKey, s3test.SecretKey))
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	s := newTeamServer(t, n, map[string]market.USDC{"main": 5 * market.OneUSDC})
	s.kill()
	s.start("--backup", "s3://"+s3test.Bucket+"/servers", "--backup-endpoint", bucket.URL, "--backup-every", "1m")
	order := movingOrder("main")
	order["image"], order["network"], order["volume"], order["command"] = image, "none", "data:16MiB", []string{"get=/data/x", "put=/data/x,kept ", "wait"}
	first := s.buy("main", "kept", order)
	require.Eventually(t, func() bool {
		cur, ok := snapshotOf(t, n).Lease(first.Address)
		return ok && cur.CheckpointHash != [32]byte{}
	}, 3*time.Minute, 200*time.Millisecond)
	require.NoError(t, n.Fail(t.Context(), machineOf(t, n, first.Node).Name))
	next := movedFrom(t, n, first)
	require.Eventually(t, func() bool {
		return strings.Contains(s.output("main", next.Address), `got /data/x "kept kept " <nil>`)
	}, 90*time.Second, 200*time.Millisecond)
}

// movedFrom waits for the lease that continues one.
func movedFrom(t *testing.T, n *network.Network, first market.Lease) (next market.Lease) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).LeasesOfOrder(first.Order) {
			if l.Continues == 1 && l.State() <= market.LeaseRunning {
				next = l
				return true
			}
		}
		return false
	}, 90*time.Second, 200*time.Millisecond)
	return next
}

func movingOrder(budget string) map[string]any {
	return map[string]any{
		"gpu": "A100", "seconds": 600, "maxPricePerGpuHour": "1.6", "allowSimulated": true, "migrate": true, "command": []string{"sh", "-c", "echo " + budget + " works; sleep 500"},
	}
}

// buy buys a lease with the key of a budget.
func (s *teamServer) buy(budget, key string, order map[string]any) market.Lease {
	s.t.Helper()
	var got struct{ Leases []struct{ Address string } }
	require.Eventually(s.t, func() bool { // it may still be bought when the server answers first
		status, raw, err := s.ask(http.MethodPost, "/v1/orders", s.tokens[budget], key, order)
		require.NoError(s.t, err)
		require.Contains(s.t, []int{http.StatusAccepted, http.StatusCreated}, status, "%s", raw)
		require.NoError(s.t, json.Unmarshal(raw, &got))
		return status == http.StatusCreated
	}, 2*time.Minute, time.Second)
	require.Len(s.t, got.Leases, 1)
	l, ok := snapshotOf(s.t, s.n).Lease(solana.MustPublicKeyFromBase58(got.Leases[0].Address))
	require.True(s.t, ok)
	return l
}

// output is what the job of a lease has printed, as the server says; empty while it says nothing.
func (s *teamServer) output(budget string, lease solana.PublicKey) string {
	s.t.Helper()
	status, raw, err := s.ask(http.MethodGet, "/v1/leases/"+lease.String()+"/logs", s.tokens[budget], "", nil)
	if err != nil || status != http.StatusOK {
		return ""
	}
	var out struct{ Text string }
	require.NoError(s.t, json.Unmarshal(raw, &out), "%s", raw)
	return strings.ReplaceAll(out.Text, "\r", "")
}

func machineOf(t *testing.T, n *network.Network, node solana.PublicKey) *network.Machine {
	t.Helper()
	for _, m := range n.Nodes {
		if m.Address == node {
			return m
		}
	}
	require.Fail(t, "no machine has the node")
	return nil
}
