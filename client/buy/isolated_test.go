package buy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Machines run a job without an image on local networks only: elsewhere it is refused before an order is placed.
func TestJobsWithoutAnImageAreForLocalNetworks(t *testing.T) {
	node := fakerpc.New(t)
	for genesis, refused := range map[string]bool{fakerpc.Genesis: false, chain.DevnetGenesis: true, chain.MainnetGenesis: true} {
		node.Answer("getGenesisHash", genesis)
		client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.URL(), WS: node.WS()}}})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		b := &Buyer{client: client}
		err = b.isolated(t.Context(), messages.JobSpec{Command: []string{"true"}})
		require.Equal(t, refused, err != nil, genesis)
		if refused {
			require.ErrorContains(t, err, "without an image on local networks only")
		}
		require.NoError(t, b.isolated(t.Context(), messages.JobSpec{Image: "debian:12"}))
	}
}
