package network_test

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	sdk "github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/localnet/network"
)

func TestAgentsOnly(t *testing.T) {
	n, err := network.Start(t.Context(), network.Config{Dir: "/tmp/gantry-sc/net", Keepers: 3, Customers: 1, Nodes: network.DefaultNodes(3), Log: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	defer n.Close()
	began := time.Now()
	require.NoError(t, n.LaunchKeepers(t.Context()))
	t.Log("keepers after", time.Since(began))
	require.NoError(t, n.LaunchAgents(t.Context()))
	t.Log("agents after", time.Since(began))
	for range 4 {
		time.Sleep(5 * time.Second)
		v := sdk.NewView(zerolog.Nop())
		require.NoError(t, sdk.Snapshot(t.Context(), n.Chain, v, "confirmed"))
		for _, node := range v.Nodes() {
			t.Log(node.Region(), node.State(), node.ChecksPassed, node.ChecksTotal, node.UptimeBps, node.MeasuredTflopsX10)
		}
		for _, r := range v.Reports() {
			t.Log(r.Period, r.State(), r.CandidateCount, r.Voters[0], r.FinalisedAt-int64(r.Period+1)*5)
		}
		t.Log(v.Faults())
	}
}
