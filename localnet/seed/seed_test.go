package seed_test

import (
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/chain"
	bindings "github.com/gantry-market/gantry/idl/market"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
)

func TestSeed(t *testing.T) {
	if _, err := engine.Find(engine.Surfnet, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	log := zerolog.New(zerolog.NewTestWriter(t))
	dir := t.TempDir()
	sup, err := process.New(dir, log)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	keys := filepath.Join(dir, "keys")
	w, err := seed.OpenWorld(keys, seed.Counts{Keepers: 3, Providers: 4, Customers: 2})
	require.NoError(t, err)
	path, err := filepath.Abs("../../program/artifacts/gantry_market.so")
	require.NoError(t, err)
	e, err := engine.New(engine.Surfnet, engine.Config{
		Dir: filepath.Join(dir, "node"), Supervisor: sup, Log: log,
		Programs: []engine.Program{{ID: bindings.ProgramID, Path: path, Authority: w.Authority.Address()}},
	})
	require.NoError(t, err)
	at, err := e.Start(t.Context())
	require.NoError(t, err)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: at.RPC, WS: at.WS}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)

	require.NoError(t, seed.Seed(t.Context(), client, w, seed.Params()))

	account, err := client.Account(t.Context(), seed.Market(), chain.Confirmed)
	require.NoError(t, err)
	market, err := bindings.ParseAccount_Market(account.Data)
	require.NoError(t, err)
	require.Equal(t, w.Authority.Address(), market.Authority)
	require.Equal(t, w.Guardian.Address(), market.Guardian)
	require.Equal(t, w.PaymentMint, market.PaymentMint)
	require.Equal(t, seed.Params(), market.Params)
	for _, m := range seed.Models() {
		account, err := client.Account(t.Context(), seed.ModelAddress(m.Id), chain.Confirmed)
		require.NoError(t, err)
		model, err := bindings.ParseAccount_GpuModel(account.Data)
		require.NoError(t, err)
		require.Equal(t, m.Name, model.Name)
		require.Equal(t, m.MinStake, model.MinStake)
	}
	sol, err := client.Balance(t.Context(), w.Customers[1].Address(), chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, 10*chain.SOL, sol)

	// A second market cannot be made, and the same keys open again.
	require.ErrorIs(t, seed.Seed(t.Context(), client, w, seed.Params()), seed.ErrRefused)
	again, err := seed.OpenWorld(keys, seed.Counts{Keepers: 3, Providers: 4, Customers: 2})
	require.NoError(t, err)
	require.Equal(t, w, again)
}
