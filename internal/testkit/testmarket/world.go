package testmarket

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/txm"
	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/localnet/engine"
)

// World is a node with the market's program. Its fields are filled by the steps that make them.
type World struct {
	T        testing.TB
	Ctx      context.Context
	Client   *chain.Client
	Endpoint engine.Endpoint
	View     *view.View
	Units    map[string]uint64 // compute units by the kind of the transaction, the largest seen

	Authority   solana.PrivateKey // upgrades the program, owns the market, mints tokens
	PaymentMint solana.PublicKey
	StakeMint   solana.PublicKey

	store *txm.Store
	mu    sync.Mutex // Units and n: a test's machine sends beside the test
	n     int
}

// Options change what New makes.
type Options struct {
	NoProgram bool // leave the program out
}

// EngineVariable chooses the engine: surfnet (default) or agave.
const EngineVariable = "GANTRY_TEST_ENGINE"

// New starts a node, or skips the test when it is not installed. The node ends with the test.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{T: t, Units: map[string]uint64{}, Authority: Key(t)}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	w.Ctx = ctx
	var programs []engine.Program
	if !o.NoProgram {
		programs = append(programs, engine.Program{ID: market.ProgramID, Path: artifact(), Authority: w.Authority.PublicKey()})
	}
	kind := engine.Surfnet
	if chosen := os.Getenv(EngineVariable); chosen != "" {
		kind = engine.Kind(chosen)
	}
	w.Endpoint = localnode.Start(t, kind, programs...)
	w.connect()
	w.Fund(w.Authority.PublicKey())
	return w
}

// artifact is the built program of this repository.
func artifact() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "program", "artifacts", "gantry_market.so")
}

// Key makes a random key.
func Key(t testing.TB) solana.PrivateKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func (w *World) connect() {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: w.Endpoint.RPC, WS: w.Endpoint.WS}}})
	require.NoError(w.T, err)
	w.T.Cleanup(c.Close)
	w.Client = c
	require.NoError(w.T, c.WaitReady(w.Ctx))
	genesis, err := c.Genesis(w.Ctx)
	require.NoError(w.T, err)
	w.store, err = txm.OpenStore(filepath.Join(w.T.TempDir(), "txm.db"), genesis)
	require.NoError(w.T, err)
	w.T.Cleanup(func() { _ = w.store.Close() })
	w.View = view.New(view.Options{})
	ctx, cancel := context.WithCancel(w.Ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.View.Run(ctx, view.Source{Client: c})
	}()
	w.T.Cleanup(func() { cancel(); <-done })
}

// Fund gives keys ten SOL each.
func (w *World) Fund(keys ...solana.PublicKey) {
	w.T.Helper()
	for _, key := range keys {
		_, err := w.Client.Airdrop(w.Ctx, key, 10*chain.SOL)
		require.NoError(w.T, err)
		require.Eventually(w.T, func() bool {
			b, err := w.Client.Balance(w.Ctx, key, chain.Confirmed)
			return err == nil && b >= 10*chain.SOL
		}, 10*time.Second, 10*time.Millisecond)
	}
}

// Try sends instructions in one transaction, the first signer paying, and returns the market's explanation of a
// refusal.
func (w *World) Try(kind string, signers []solana.PrivateKey, ixs ...solana.Instruction) (txm.Result, error) {
	w.T.Helper()
	ring := txm.Keys{}
	for _, s := range signers {
		ring[s.PublicKey()] = s
	}
	landed := make(chan txm.Landed, 1)
	m, err := txm.New(txm.Options{
		RPC: w.Client, Store: w.store, Keys: ring, Payer: signers[0].PublicKey(),
		OnLanded: func(l txm.Landed) { landed <- l },
	})
	require.NoError(w.T, err)
	defer m.Close()
	w.mu.Lock()
	w.n++
	id := fmt.Sprintf("%s-%d", kind, w.n)
	w.mu.Unlock()
	res, err := m.Submit(w.Ctx, txm.Intent{ID: id, Kind: kind, Instructions: ixs})
	if err != nil {
		return res, market.Explain(err)
	}
	select {
	case l := <-landed:
		w.mu.Lock()
		w.Units[kind] = max(w.Units[kind], l.Units)
		w.mu.Unlock()
	case <-time.After(5 * time.Second):
		w.T.Errorf("%s: no figures of the transaction", kind)
	}
	return res, nil
}

// Do is Try that must succeed; buildErr is the builder's error.
func (w *World) Do(kind string, signers []solana.PrivateKey, instruction solana.Instruction, buildErr error) txm.Result {
	w.T.Helper()
	require.NoError(w.T, buildErr, kind)
	res, err := w.Try(kind, signers, instruction)
	require.NoError(w.T, err, kind)
	return res
}

// Mint creates a mint of the authority's. The kind of its transactions says which.
func (w *World) mint(decimals uint8) solana.PublicKey {
	w.T.Helper()
	const size = 82
	mint := Key(w.T)
	rent, err := w.Client.MinimumRent(w.Ctx, size, chain.Confirmed)
	require.NoError(w.T, err)
	authority := w.Authority.PublicKey()
	_, err = w.Try("create_mint", []solana.PrivateKey{w.Authority, mint},
		system.NewCreateAccountInstruction(uint64(rent), size, solana.TokenProgramID, authority, mint.PublicKey()).Build(),
		token.NewInitializeMint2Instruction(decimals, authority, solana.PublicKey{}, mint.PublicKey()).Build())
	require.NoError(w.T, err)
	return mint.PublicKey()
}

// Give mints tokens to a wallet's associated account, which it creates.
func (w *World) Give(wallet, mint solana.PublicKey, amount uint64) solana.PublicKey {
	w.T.Helper()
	account := market.TokenAddress(wallet, mint)
	ixs := []solana.Instruction{ix.CreateTokenAccount(w.Authority.PublicKey(), wallet, mint)}
	if amount > 0 {
		ixs = append(ixs, token.NewMintToInstruction(amount, mint, account, w.Authority.PublicKey(), nil).Build())
	}
	_, err := w.Try("give", []solana.PrivateKey{w.Authority}, ixs...)
	require.NoError(w.T, err)
	return account
}

// Tokens is the balance of a token account, 0 when it does not exist.
func (w *World) Tokens(account solana.PublicKey) uint64 {
	w.T.Helper()
	a, err := w.Client.Account(w.Ctx, account, chain.Confirmed)
	if errors.Is(err, chain.ErrAccountNotFound) {
		return 0
	}
	require.NoError(w.T, err)
	var acc token.Account
	require.NoError(w.T, acc.UnmarshalWithDecoder(newDecoder(a.Data)))
	return acc.Amount
}

// Wait waits for a condition of the view.
func (w *World) Wait(what string, cond func(*view.View) bool) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, 20*time.Second)
	defer cancel()
	require.NoError(w.T, w.View.WaitFor(ctx, cond), what)
}

// Until waits until the chain's clock, which may be behind the wall's, has reached the unix second.
func (w *World) Until(unix int64) {
	w.T.Helper()
	for w.Now() < unix {
		time.Sleep(50 * time.Millisecond)
	}
}

// DeviceID is a device identity made from a name.
func DeviceID(name string) [32]byte { return sha256.Sum256([]byte("gantry-device" + name)) }
