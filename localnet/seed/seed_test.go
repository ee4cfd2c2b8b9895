package seed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func TestSeed(t *testing.T) {
	counts := seed.Counts{Keepers: 3, Providers: 4, Customers: 2}
	m := testmarket.NewSeeded(t, counts)
	m.Seed()
	w := m.Keys

	account, err := m.Chain.Account(t.Context(), market.MarketAddress(), chain.Confirmed)
	require.NoError(t, err)
	got, err := bindings.ParseAccount_Market(account.Data)
	require.NoError(t, err)
	require.Equal(t, w.Authority.Address(), got.Authority)
	require.Equal(t, w.Guardian.Address(), got.Guardian)
	require.Equal(t, w.PaymentMint, got.PaymentMint)
	require.Equal(t, seed.Params(), got.Params)
	for _, want := range seed.Models() {
		account, err := m.Chain.Account(t.Context(), market.ModelAddress(want.Id), chain.Confirmed)
		require.NoError(t, err)
		model, err := bindings.ParseAccount_GpuModel(account.Data)
		require.NoError(t, err)
		require.Equal(t, want.Name, model.Name)
		require.Equal(t, want.MinStake, model.MinStake)
	}
	sol, err := m.Chain.Balance(t.Context(), w.Customers[1].Address(), chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, 10*chain.SOL, sol)

	// A second market cannot be made, and the same keys open again.
	require.ErrorIs(t, seed.Seed(t.Context(), m.Chain, w, seed.Params(), seed.Models()), seed.ErrRefused)
	again, err := seed.OpenKeys(m.Dir, counts)
	require.NoError(t, err)
	require.Equal(t, w, again)
	_, err = again.Wallet("nobody")
	require.Error(t, err)
}
