package daemon

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// An agent whose endpoints are of two clusters does not start: it would show one market's leases to the other.
func TestAnAgentBetweenTwoClustersDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "node.json")
	require.NoError(t, chain.SaveKeypair(key, solana.NewWallet().PrivateKey))
	a, b := fakerpc.New(t), fakerpc.New(t)
	b.Answer("getGenesisHash", chain.TestnetGenesis)
	d, err := New(Options{Config: config.Config{
		DataDir: dir, RPC: a.URL(), WS: a.WS(), Failover: []string{b.URL()}, FailoverWS: []string{b.WS()}, NodeKey: key, Inventory: config.InventoryNVML,
	}, Log: zerolog.Nop()})
	require.NoError(t, err)
	require.ErrorIs(t, d.Run(t.Context()), chain.ErrWrongCluster)
	require.Zero(t, a.Calls("getMultipleAccounts")+b.Calls("getMultipleAccounts"))
}
