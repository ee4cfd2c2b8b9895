package daemon

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A keeper whose endpoints are of two clusters does not start, so that it signs for neither.
func TestAKeeperBetweenTwoClustersDoesNotStart(t *testing.T) {
	a, b := fakerpc.New(t), fakerpc.New(t)
	b.Answer("getGenesisHash", chain.TestnetGenesis)
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: a.URL(), WS: a.WS()}, {RPC: b.URL(), WS: b.WS()}}})
	require.NoError(t, err)
	defer c.Close()
	_, err = Open(t.Context(), Config{Client: c, Wallet: newWallet(t), Data: t.TempDir(), Timing: LocalTiming(), Log: zerolog.Nop()})
	require.ErrorIs(t, err, chain.ErrWrongCluster)
	require.Zero(t, a.Calls("sendTransaction")+b.Calls("sendTransaction"))
}
