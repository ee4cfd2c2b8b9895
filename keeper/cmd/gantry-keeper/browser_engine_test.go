package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/browser"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// A keeper's owner, whose key is in a wallet of the browser, bonds by a command. This machine has no key.
func TestRegisterInABrowser(t *testing.T) {
	browser.Find(t)
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	owner := testmarket.Key(t)
	w.Fund(owner.PublicKey())
	w.Give(owner.PublicKey(), w.StakeMint, 5_000*uint64(market.OneGNT))
	key := filepath.Join(t.TempDir(), "wallet.json")
	require.NoError(t, chain.SaveKeypair(key, owner))

	a := app()
	link, ended := browser.Start(t, func(out io.Writer) error {
		a.Writer, a.ErrWriter = io.Discard, out
		return a.RunContext(t.Context(), []string{
			"gantry-keeper", "register", "--url", w.Endpoint.RPC, "--ws", w.Endpoint.WS, "--data", filepath.Join(t.TempDir(), "keeper"), "--keypair", "/nowhere",
			"--sign-with", "browser:" + owner.PublicKey().String(), "--bond", "1000", "--listen", "/ip4/127.0.0.1/tcp/4101", "--no-wait",
		})
	})
	browser.Sign(t, link, key, "Bonds 1000 GNT of the wallet as a keeper.")
	require.NoError(t, <-ended)
	k, registered, err := query.Find[market.Keeper](t.Context(), w.Client, market.KeeperAddress(owner.PublicKey()), chain.Confirmed)
	require.NoError(t, err)
	require.True(t, registered)
	require.EqualValues(t, 1000*market.OneGNT, k.Bond)
}
