package testmarket

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Testbed is a node with the market's program. Its fields are filled by the steps that make them.
type Testbed struct {
	T        testing.TB
	Ctx      context.Context
	Client   *chain.Client
	Endpoint engine.Endpoint
	View     *view.View
	Units    map[string]uint64 // compute units by the kind of the transaction, the largest seen
	Logs     map[string]int    // bytes of its log, the same

	Authority   solana.PrivateKey // upgrades the program, owns the market, mints tokens
	PaymentMint solana.PublicKey
	StakeMint   solana.PublicKey

	store *txm.Store
	mu    sync.Mutex // Units, Logs and n: a test's machine sends beside the test
	n     int
}

// Options change what New makes.
type Options struct {
	NoProgram bool             // leave the program out
	Limit     time.Duration    // how long the test may take; default 2 minutes
	Programs  []engine.Program // of other people, deployed besides
}

// EngineVariable chooses the engine: surfnet (default) or agave.
const EngineVariable = "GANTRY_TEST_ENGINE"

// New starts a node, or skips the test when it is not installed. The node ends with the test.
func New(t testing.TB, o Options) *Testbed {
	t.Helper()
	bed := &Testbed{T: t, Units: map[string]uint64{}, Logs: map[string]int{}, Authority: Key(t)}
	if o.Limit <= 0 {
		o.Limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Limit)
	t.Cleanup(cancel)
	bed.Ctx = ctx
	programs := o.Programs
	if !o.NoProgram {
		programs = append(programs, localnode.Market(t, bed.Authority.PublicKey()))
	}
	bed.Endpoint = localnode.Start(t, chosen(), programs...)
	bed.connect()
	bed.Fund(bed.Authority.PublicKey())
	return bed
}

// chosen is the engine of EngineVariable.
func chosen() engine.Kind {
	if kind := os.Getenv(EngineVariable); kind != "" {
		return engine.Kind(kind)
	}
	return engine.Surfnet
}

// Key makes a random key.
func Key(t testing.TB) solana.PrivateKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func (bed *Testbed) connect() {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: bed.Endpoint.RPC, WS: bed.Endpoint.WS}}})
	require.NoError(bed.T, err)
	bed.T.Cleanup(c.Close)
	bed.Client = c
	require.NoError(bed.T, c.WaitReady(bed.Ctx))
	genesis, err := c.Genesis(bed.Ctx)
	require.NoError(bed.T, err)
	bed.store, err = txm.OpenStore(filepath.Join(bed.T.TempDir(), "txm.db"), genesis)
	require.NoError(bed.T, err)
	bed.T.Cleanup(func() { _ = bed.store.Close() })
	bed.View = view.New(view.Options{})
	ctx, cancel := context.WithCancel(bed.Ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = bed.View.Run(ctx, view.Source{Client: c})
	}()
	bed.T.Cleanup(func() { cancel(); <-done })
}

// Fund gives keys ten SOL each.
func (bed *Testbed) Fund(keys ...solana.PublicKey) {
	bed.T.Helper()
	for _, key := range keys {
		_, err := bed.Client.Airdrop(bed.Ctx, key, 10*chain.SOL)
		require.NoError(bed.T, err)
		require.Eventually(bed.T, func() bool {
			b, err := bed.Client.Balance(bed.Ctx, key, chain.Confirmed)
			return err == nil && b >= 10*chain.SOL
		}, 10*time.Second, 10*time.Millisecond)
	}
}

// Try sends instructions in one transaction, the first signer paying, and returns the market's explanation of a
// refusal.
func (bed *Testbed) Try(kind string, signers []solana.PrivateKey, ixs ...solana.Instruction) (txm.Result, error) {
	bed.T.Helper()
	ring := txm.Keys{}
	for _, s := range signers {
		ring[s.PublicKey()] = s
	}
	landed := make(chan txm.Landed, 1)
	m, err := txm.New(txm.Options{
		RPC: bed.Client, Store: bed.store, Keys: ring, Payer: signers[0].PublicKey(),
		OnLanded: func(l txm.Landed) { landed <- l },
	})
	require.NoError(bed.T, err)
	defer m.Close()
	bed.mu.Lock()
	bed.n++
	id := fmt.Sprintf("%s-%d", kind, bed.n)
	bed.mu.Unlock()
	res, err := m.Submit(bed.Ctx, txm.Intent{ID: id, Kind: kind, Instructions: ixs})
	if err != nil {
		return res, market.Explain(err)
	}
	select {
	case l := <-landed:
		bed.mu.Lock()
		bed.Units[kind], bed.Logs[kind] = max(bed.Units[kind], l.Units), max(bed.Logs[kind], len(strings.Join(l.Logs, "")))
		bed.mu.Unlock()
	case <-time.After(5 * time.Second):
		bed.T.Errorf("%s: no figures of the transaction", kind)
	}
	return res, nil
}

// Do is Try that must succeed; buildErr is the builder's error.
func (bed *Testbed) Do(kind string, signers []solana.PrivateKey, instruction solana.Instruction, buildErr error) txm.Result {
	bed.T.Helper()
	require.NoError(bed.T, buildErr, kind)
	res, err := bed.Try(kind, signers, instruction)
	require.NoError(bed.T, err, kind)
	return res
}

// Mint creates a mint of the authority's. The kind of its transactions says which.
func (bed *Testbed) mint(decimals uint8) solana.PublicKey {
	bed.T.Helper()
	const size = 82
	mint := Key(bed.T)
	rent, err := bed.Client.MinimumRent(bed.Ctx, size, chain.Confirmed)
	require.NoError(bed.T, err)
	authority := bed.Authority.PublicKey()
	_, err = bed.Try("create_mint", []solana.PrivateKey{bed.Authority, mint},
		system.NewCreateAccountInstruction(uint64(rent), size, solana.TokenProgramID, authority, mint.PublicKey()).Build(),
		token.NewInitializeMint2InstructionBuilder().SetDecimals(decimals).SetMintAuthority(authority).SetMintAccount(mint.PublicKey()).Build())
	require.NoError(bed.T, err)
	return mint.PublicKey()
}

// Give mints tokens to a wallet's associated account, which it creates.
func (bed *Testbed) Give(wallet, mint solana.PublicKey, amount uint64) solana.PublicKey {
	bed.T.Helper()
	account := market.TokenAddress(wallet, mint)
	ixs := []solana.Instruction{ix.CreateTokenAccount(bed.Authority.PublicKey(), wallet, mint)}
	if amount > 0 {
		ixs = append(ixs, token.NewMintToInstruction(amount, mint, account, bed.Authority.PublicKey(), nil).Build())
	}
	_, err := bed.Try("give", []solana.PrivateKey{bed.Authority}, ixs...)
	require.NoError(bed.T, err)
	return account
}

// Tokens is the balance of a token account, 0 when it does not exist.
func (bed *Testbed) Tokens(account solana.PublicKey) uint64 {
	bed.T.Helper()
	a, err := bed.Client.Account(bed.Ctx, account, chain.Confirmed)
	if errors.Is(err, chain.ErrAccountNotFound) {
		return 0
	}
	require.NoError(bed.T, err)
	var acc token.Account
	require.NoError(bed.T, acc.UnmarshalWithDecoder(newDecoder(a.Data)))
	return acc.Amount
}

// Wait waits for a condition of the view.
func (bed *Testbed) Wait(what string, cond func(*view.View) bool) {
	bed.T.Helper()
	ctx, cancel := context.WithTimeout(bed.Ctx, 20*time.Second)
	defer cancel()
	require.NoError(bed.T, bed.View.WaitFor(ctx, cond), what)
}

// Until waits until the chain's clock, which may be behind the wall's, has reached the unix second.
func (bed *Testbed) Until(unix int64) {
	bed.T.Helper()
	for bed.Now() < unix {
		time.Sleep(50 * time.Millisecond)
	}
}

// DeviceID is a device identity made from a name.
func DeviceID(name string) [32]byte { return sha256.Sum256([]byte("gantry-device" + name)) }
