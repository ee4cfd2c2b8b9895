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
	n, err := network.Start(t.Context(), network.Config{Dir: "/tmp/gantry-sc/net", Keepers: 1, Customers: 1, Nodes: network.DefaultNodes(3), Log: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	defer n.Close()
	require.NoError(t, n.LaunchAgents(t.Context()))
	v := sdk.NewView(zerolog.Nop())
	require.NoError(t, sdk.Snapshot(t.Context(), n.Chain, v, "confirmed"))
	require.Len(t, v.Nodes(), 3)
	time.Sleep(5 * time.Second)
}
