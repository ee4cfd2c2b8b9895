//go:build e2e

package scenario

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// A customer has its machine measured at a random second of the lease, beside the job: an honest one passes and goes
// on, one that makes its bytes up loses the lease.
func TestCustomersInspectTheirMachines(t *testing.T) {
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
	inspected := func(gpu, maxPrice string) network.Output {
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", gpu, "--max-price", maxPrice, "--duration", "20s", "--allow-simulated",
			"--verify", "never", "--inspect", "always", "--", "sleep", "60")
		require.NoError(t, err)
		return out
	}

	// Keepers find the one that makes its bytes up, too: it comes first.
	out := inspected("H100", "2.60")
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Regexp(t, notPassed, out.Stderr)
	require.Contains(t, out.Stderr, "running", "its job ran when it was measured")
	require.Contains(t, out.Stderr, "a cell is not what the product has there")

	out = inspected("A100", "1.60")
	require.Contains(t, out.Stderr, "✓ inspected")
	require.NotContains(t, out.Stderr, "does not pass")
}

// inspected is what an answer says of a lease that is inspected.
type inspected struct {
	Address, Status string
	Inspection      *service.Inspection
}

// Servers inspect as deploy does: a lease that was ordered over HTTP, by a deployment's rules or by a model is measured at a
// random second, also when its server is killed meanwhile. The lease of a machine that makes its bytes up is ended, and each
// lease says what came of it.
func TestServersInspectTheirMachines(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(2)
	nodes[1].Wrong = true
	params := seed.Params()
	params.PeriodSecs = 60 // keepers find the one that makes its bytes up, too, and report it at the end of a period
	params.ReportRetentionSecs = 6*params.PeriodSecs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Params: &params, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.LaunchKeepers(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "40")
	m := serveModels(t, n, customer)
	require.NoError(t, n.LaunchAgents(t.Context()))
	order := func(key string, more map[string]any) (lease string) {
		t.Helper()
		body := map[string]any{"gpu": "A100", "seconds": 20, "maxPricePerGpuHour": "2.60", "command": []string{"sleep", "60"}, "allowSimulated": true, "inspect": "always"}
		maps.Copy(body, more)
		var out struct {
			Phase  string
			Leases []inspected
		}
		require.Eventually(t, func() bool {
			status, text := m.order(key, body, &out)
			require.Less(t, status, http.StatusBadRequest, text)
			return out.Phase == "bought"
		}, 2*time.Minute, 100*time.Millisecond)
		return out.Leases[0].Address
	}
	is := func(lease string) (l inspected) {
		t.Helper()
		status, text := m.ask(http.MethodGet, "/v1/leases/"+lease, nil, &l)
		require.Equal(t, http.StatusOK, status, text)
		return l
	}
	stop := func(lease string) { // the machine has one GPU
		t.Helper()
		status, text := m.ask(http.MethodPost, "/v1/leases/"+lease+"/stop", nil, nil)
		require.Equal(t, http.StatusOK, status, text)
	}
	becomes := func(lease, state string) (l inspected) {
		t.Helper()
		require.Eventually(t, func() bool {
			l = is(lease)
			return l.Inspection != nil && l.Inspection.State != service.InspectionDue
		}, 2*time.Minute, 100*time.Millisecond)
		require.Equal(t, state, l.Inspection.State, "%+v", l.Inspection)
		return l
	}
	bad := becomes(order("bad", map[string]any{"gpu": "H100"}), service.InspectionFailed)
	require.Contains(t, bad.Inspection.Why, "a cell is not what the product has there")
	require.NotContains(t, bad.Inspection.Why, "could not be ended")
	require.Equal(t, market.LeaseEnded.String(), is(bad.Address).Status)

	good := becomes(order("good", nil), service.InspectionPassed)
	require.NotEmpty(t, good.Inspection.TOPS)
	require.NotEmpty(t, good.Inspection.Bandwidth)
	require.Positive(t, good.Inspection.At)
	require.Empty(t, good.Inspection.Why)
	stop(good.Address)

	// The server is killed while an inspection is due, which is far away: the next one draws anew in what is left.
	lease := order("killed", map[string]any{"seconds": 60})
	require.Equal(t, &service.Inspection{State: service.InspectionDue}, is(lease).Inspection)
	m.kill()
	m.start()
	becomes(lease, service.InspectionPassed)
	m.kill()
	m.start()
	require.Equal(t, service.InspectionPassed, is(lease).Inspection.State, "it is known to the next server, and done once")
	stop(lease)
	none := order("none", map[string]any{"inspect": "never"})
	require.Nil(t, is(none).Inspection)
	stop(none)
	spared := order("spared", map[string]any{"inspect": "auto"})
	require.Equal(t, service.InspectionSpared, is(spared).Inspection.State, "simulated GPUs have nothing to show")
	stop(spared)

	call := robot(t, n, customer)
	var bought mcp.Deployed
	require.Eventually(t, func() bool {
		why := call("deploy", map[string]any{
			"idempotencyKey": "robot", "gpu": "A100", "seconds": 20, "maxPricePerGpuHour": "2.60", "command": []string{"sleep", "60"}, "allowSimulated": true, "inspect": "always",
		}, &bought)
		require.Empty(t, why)
		return bought.Purchase.Phase == "bought"
	}, 2*time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		var all struct{ Leases []inspected }
		require.Empty(t, call("leases", map[string]any{"lease": bought.Purchase.Leases[0].Address}, &all))
		x := all.Leases[0].Inspection
		return x != nil && x.State == service.InspectionPassed
	}, 2*time.Minute, 100*time.Millisecond)
}
