package register

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txm"
)

// The machine records a checkpoint of a running lease of its own, and ends it, and no other.
func TestCheckpoint(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs = 600
	w.InitMarket(params)
	keeper, provider := w.Keeper(), w.Provider(100*market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 1_000_000)
	customer := w.Customer(10*market.OneUSDC, 10*market.OneUSDC)
	o := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 1_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(keeper, o, node)

	genesis, err := w.Client.Genesis(t.Context())
	require.NoError(t, err)
	commands := func(key solana.PrivateKey) *Commands {
		store, err := txm.OpenStore(filepath.Join(t.TempDir(), "txs"), genesis)
		require.NoError(t, err)
		m, err := txm.New(txm.Options{RPC: w.Client, Store: store, Keys: txm.NewKeys(key), Payer: key.PublicKey(), Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() {
			m.Close()
			require.NoError(t, store.Close())
		})
		c, err := New(Options{PlanOptions: PlanOptions{Chain: w.Client, NodeKey: key.PublicKey()}, Txm: m})
		require.NoError(t, err)
		return c
	}
	c, hash := commands(nodeKey), [32]byte{1, 2, 3}
	require.ErrorIs(t, c.Checkpoint(t.Context(), lease.Address, hash), ErrNoLease, "it has not started")
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)
	require.ErrorIs(t, commands(customer).Checkpoint(t.Context(), lease.Address, hash), ErrNoLease)
	require.ErrorIs(t, c.Checkpoint(t.Context(), solana.PublicKey{9}, hash), ErrNoLease)
	require.NoError(t, c.Checkpoint(t.Context(), lease.Address, hash))
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.CheckpointHash == hash })
	require.Equal(t, market.LeaseRunning, lease.State())

	// The machine ends it as its terms say: this one after a notice.
	require.ErrorIs(t, commands(customer).End(t.Context(), lease.Address), ErrNoLease)
	require.NoError(t, c.End(t.Context(), lease.Address))
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.NoticeAt != 0 })
	require.Equal(t, market.LeaseRunning, lease.State())
}
