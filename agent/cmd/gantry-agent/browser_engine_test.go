package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/browser"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// A provider whose key is in a wallet of the browser registers a machine: four transactions, of which the last is signed
// by the machine's key too.
func TestRegisterInABrowser(t *testing.T) {
	browser.Find(t)
	m := testmarket.NewSeeded(t, seed.Counts{Keepers: 1, Providers: 1, Customers: 1})
	m.Seed()
	at, wallet := m.Chain.Endpoints()[0], m.Keys.Providers[0]
	dir := filepath.Join(t.TempDir(), "agent")
	run := func(out io.Writer, args ...string) error {
		a := app()
		a.Writer, a.ErrWriter = io.Discard, out
		return a.RunContext(t.Context(), append([]string{"gantry-agent"}, args...))
	}
	with := []string{"--data-dir", dir, "--url", at.RPC, "--ws", at.WS, "--inventory", "simulated:A100:1", "--region", "us-west-2"}
	require.NoError(t, run(io.Discard, append([]string{"init", "--skip-benchmark"}, with...)...))

	link, ended := browser.Start(t, func(out io.Writer) error {
		return run(out, append([]string{"register", "--price", "1.26", "--sign-with", "browser:" + wallet.Address().String()}, with...)...)
	})
	browser.Sign(t, link, wallet.Path, "Makes the wallet a provider.", "Stakes 100 GNT of the wallet.", "Sends 0.05 SOL to", "Registers a machine")
	require.NoError(t, <-ended)
	key, err := chain.LoadKeypair(filepath.Join(dir, "node.json"))
	require.NoError(t, err)
	provider := market.ProviderAddress(wallet.Address())
	node, err := query.Fetch[market.Node](t.Context(), m.Chain, market.NodeAddress(provider, key.PublicKey()), chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, provider, node.Provider)
	require.EqualValues(t, 1_260_000, node.Price)
}
