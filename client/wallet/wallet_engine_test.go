package wallet_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/txm"
)

// testWallet is a builder for a wallet, with the wallet's key.
type testWallet struct {
	*wallet.Builder
	t   *testing.T
	w   *testmarket.Testbed
	key solana.PrivateKey
}

func open(t *testing.T, w *testmarket.Testbed, key solana.PrivateKey, session solana.PublicKey) *testWallet {
	t.Helper()
	genesis, err := w.Client.Genesis(w.Ctx)
	require.NoError(t, err)
	store, err := txm.OpenStore(filepath.Join(t.TempDir(), "wallet.db"), genesis)
	require.NoError(t, err)
	m, err := txm.New(txm.Options{RPC: w.Client, Store: store, Keys: txm.Keys{}, Payer: key.PublicKey(), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close(); require.NoError(t, store.Close()) })
	b := wallet.New(wallet.Options{
		Client: w.Client, Service: service.New(w.Client, zerolog.Nop()), Manager: m, Customer: key.PublicKey(), Session: session, Now: time.Now,
	})
	return &testWallet{b, t, w, key}
}

func (d *testWallet) build(r wallet.Request) wallet.Transaction {
	d.t.Helper()
	tx, err := d.Build(d.w.Ctx, r)
	require.NoError(d.t, err)
	return tx
}

// sign signs as a wallet does.
func (d *testWallet) sign(tx wallet.Transaction, by solana.PrivateKey) []byte {
	d.t.Helper()
	raw := bytes.Clone(tx.Bytes)
	sig, err := by.Sign(raw[65:])
	require.NoError(d.t, err)
	copy(raw[1:65], sig[:])
	return raw
}

func (d *testWallet) do(r wallet.Request) wallet.Transaction {
	d.t.Helper()
	tx := d.build(r)
	_, err := d.Submit(d.w.Ctx, tx.ID, d.sign(tx, d.key))
	require.NoError(d.t, err)
	return tx
}

func (d *testWallet) credits() market.Credits {
	d.t.Helper()
	c, _, err := query.Find[market.Credits](d.w.Ctx, d.w.Client, market.CreditsAddress(d.key.PublicKey()), chain.Confirmed)
	require.NoError(d.t, err)
	return c
}

func (d *testWallet) refused(r wallet.Request, why string) {
	d.t.Helper()
	_, err := d.Build(d.w.Ctx, r)
	require.ErrorContains(d.t, err, why)
}

// A wallet with tokens only deposits and authorises in one transaction, at exactly the cost that it was told; then it
// deposits once more, withdraws, and takes the powers back.
func TestWallet(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	key, session := w.Customer(100*market.OneUSDC, 0), testmarket.Key(t)
	d := open(t, w, key, session.PublicKey())
	d.refused(wallet.Request{}, "asks for 0 things")
	d.refused(wallet.Request{Withdraw: "1", Revoke: true}, "asks for 2 things")
	d.refused(wallet.Request{Deposit: "0"}, "moves nothing")
	d.refused(wallet.Request{Deposit: "100.01"}, "holds 100.00")
	d.refused(wallet.Request{Authorise: &wallet.Authorise{Cap: "5", Seconds: 3600}}, "has no credits")
	d.refused(wallet.Request{Withdraw: "all"}, "has no credits")
	d.refused(wallet.Request{Revoke: true}, "has no powers")

	sol := func(key solana.PublicKey) chain.Lamports {
		n, err := w.Client.Balance(w.Ctx, key, chain.Confirmed)
		require.NoError(t, err)
		return n
	}
	before := sol(key.PublicKey())
	tx := d.do(wallet.Request{Deposit: "25", Authorise: &wallet.Authorise{Cap: "10", Seconds: 3600, Fund: "0.05"}})
	require.Len(t, tx.Effects, 4, tx.Effects)
	require.Equal(t, "25.00", tx.USDC)
	told, err := chain.ParseSOL(tx.SOL)
	require.NoError(t, err)
	require.Equal(t, told, before-sol(key.PublicKey()), tx.Effects)
	require.Equal(t, chain.SOL/20, sol(session.PublicKey()))
	c := d.credits()
	require.EqualValues(t, 25*market.OneUSDC, c.Balance)
	k, named := c.SessionKeyOf(session.PublicKey())
	require.True(t, named)
	require.EqualValues(t, 10*market.OneUSDC, k.Cap)

	// Two equal deposits are two; one that is handed in twice is one.
	one, two := d.build(wallet.Request{Deposit: "5"}), d.build(wallet.Request{Deposit: "5"})
	require.NotEqual(t, one.Bytes, two.Bytes)
	for _, tx := range []wallet.Transaction{one, two, one} {
		_, err := d.Submit(w.Ctx, tx.ID, d.sign(tx, key))
		require.NoError(t, err)
	}
	require.EqualValues(t, 35*market.OneUSDC, d.credits().Balance)

	// Nothing is sent but what was built, signed by the wallet.
	tx = d.build(wallet.Request{Withdraw: "1"})
	_, err = d.Submit(w.Ctx, tx.ID, d.sign(tx, session))
	require.ErrorContains(t, err, "is not one of the wallet")
	_, err = d.Submit(w.Ctx, tx.ID, d.sign(d.build(wallet.Request{Withdraw: "2"}), key))
	require.ErrorContains(t, err, "another transaction than the one that was shown")
	_, err = d.Submit(w.Ctx, "credits_withdraw-0", d.sign(tx, key))
	require.ErrorContains(t, err, "is not known")
	require.EqualValues(t, 35*market.OneUSDC, d.credits().Balance)

	d.refused(wallet.Request{Withdraw: "35.01"}, "35.00 free")
	require.True(t, strings.Contains(strings.Join(d.do(wallet.Request{Withdraw: "all"}).Effects, " "), "35.00 USDC"))
	require.Zero(t, d.credits().Balance)
	d.do(wallet.Request{Revoke: true})
	c = d.credits()
	_, named = c.SessionKeyOf(session.PublicKey())
	require.False(t, named)

	// What is no lease of the wallet is neither rated nor disputed.
	nobody := testmarket.Key(t).PublicKey().String()
	d.refused(wallet.Request{Rate: &wallet.Rate{Lease: nobody, Stars: 5}}, "has no lease")
	d.refused(wallet.Request{Dispute: &wallet.Dispute{Lease: nobody, Kind: "bad-output", Text: "x"}}, "has no lease")
	d.refused(wallet.Request{Dispute: &wallet.Dispute{Lease: nobody, Kind: "other", Text: "x"}}, "not-delivered or bad-output")
}
