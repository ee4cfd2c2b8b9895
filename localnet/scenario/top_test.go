//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// A customer sees what its lease uses and costs: a container that holds 100 MiB and keeps a processor busy.
func TestACustomerSeesWhatALeaseUses(t *testing.T) {
	needsSandbox(t)
	n, customer := newMarket(t)
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	done := ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "20m", "--allow-simulated", "--network", "none",
		"--detach", "--memory", "512m", "--image", image, "--", "hold=100", "burn", "wait")
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	lease := deployed.Leases[0].Address

	var top struct {
		Lease            string
		CPUs, CPUSeconds float64
		MemoryBytes      uint64
		MemoryLimitBytes uint64
		GPUs             []struct{ Simulated bool }
		Cost             struct{ UsdcPerHour, OwedUsdc string }
	}
	require.Eventually(t, func() bool {
		r, err := n.Gantry(t.Context(), customer, "top", lease, "--json")
		require.NoError(t, err)
		if r.Code != 0 {
			t.Logf("not yet: %s", r.Stderr) // its job may just be starting
			return false
		}
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &top), r.Stdout)
		return top.CPUSeconds >= 2 && top.CPUs > 0 && top.MemoryBytes > 100<<20
	}, 3*time.Minute, 200*time.Millisecond)
	require.Equal(t, lease, top.Lease)
	require.Equal(t, uint64(512<<20), top.MemoryLimitBytes)
	require.Less(t, top.MemoryBytes, top.MemoryLimitBytes)
	require.Len(t, top.GPUs, 1)
	require.True(t, top.GPUs[0].Simulated)
	require.Equal(t, "1.26", top.Cost.UsdcPerHour)
	require.NotEmpty(t, top.Cost.OwedUsdc)
	text, err := n.GantryRaw(t.Context(), customer.Name, "--keypair", customer.Path, "--url", n.At.RPC, "--ws", n.At.WS, "top", lease, "--once")
	require.NoError(t, err)
	require.Contains(t, text.Stdout, "SIMULATED: the readings mean nothing")
	require.Contains(t, text.Stdout, "USDC an hour")
	t.Logf("\n%s", text.Stdout)

	r, err := n.Gantry(t.Context(), n.Keys.Customers[1], "top", lease, "--json")
	require.NoError(t, err)
	require.NotZero(t, r.Code, "a stranger's lease: %s", r.Stdout)
	ok(t, n, customer, "stop", lease)
}
