//go:build e2e

package scenario

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/localnet/network"
)

// Keepers measure the lines of machines by themselves; searches and orders ask for them, and a customer sees how far machines are.
func TestLinesAreMeasured(t *testing.T) {
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	search := func(args ...string) (offers []service.Offer) {
		out := ok(t, n, customer, append([]string{"search"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(out.Stdout), &offers), out.Stdout)
		return offers
	}
	require.Eventually(t, func() bool {
		measured := 0
		for _, o := range search() {
			if o.Measured != nil && o.Measured.DownMbps > 0 && o.Measured.UpMbps > 0 {
				measured++
			}
		}
		return measured == 2
	}, 8*time.Minute, 2*time.Second)
	for _, o := range search("--latency") {
		t.Logf("%s: %d Mbit/s down, %d up, %+v", o.Model, o.Measured.DownMbps, o.Measured.UpMbps, o.Latency)
		require.Greater(t, o.Measured.DownMbps, uint32(5))
		require.Greater(t, o.Measured.UpMbps, uint32(5))
		require.NotNil(t, o.Latency)
		require.True(t, o.Latency.Reached)
		require.Positive(t, o.Latency.Millis)
		require.False(t, o.Latency.Relayed)
	}
	require.Len(t, search("down>=5 up>=5"), 2)
	require.Empty(t, search("down>=900000"))
	ok(t, n, customer, deploy("3.00", "A100", "--min-down", "5", "--min-up", "5", "--run-to-completion")...)
	out, err := n.Gantry(t.Context(), customer, deploy("3.00", "A100", "--min-down", fmt.Sprint(900_000))...)
	require.NoError(t, err)
	require.NotZero(t, out.Code, "no machine has such a line: %s", out.Stdout)
	t.Log(out.Stderr)
}
