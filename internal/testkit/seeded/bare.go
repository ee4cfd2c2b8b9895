// Package seeded starts the embedded engine with a seeded market and nothing else, for tests that act themselves.
package seeded

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
)

// Market is a seeded market without keepers and agents.
type Market struct {
	T      testing.TB
	Keys   seed.Keys
	Chain  *chain.Client
	Dir    string // of the keypair files
	Engine engine.Engine
	sender seed.Sender
}

// Start starts the engine and deploys the program; Seed makes the market.
func Start(t testing.TB, counts seed.Counts) *Market {
	t.Helper()
	if _, err := engine.Find(engine.Surfnet, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	dir := t.TempDir()
	sup, err := process.New(dir, log)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	m := &Market{T: t, Dir: filepath.Join(dir, "keys")}
	m.Keys, err = seed.OpenKeys(m.Dir, counts)
	require.NoError(t, err)
	_, file, _, _ := runtime.Caller(0)
	m.Engine, err = engine.New(engine.Surfnet, engine.Config{
		Dir: filepath.Join(dir, "node"), Supervisor: sup, Log: log,
		Programs: []engine.Program{{
			ID: bindings.ProgramID, Authority: m.Keys.Authority.Address(),
			Path: filepath.Join(filepath.Dir(file), "..", "..", "..", "program", "artifacts", "gantry_market.so"),
		}},
	})
	require.NoError(t, err)
	at, err := m.Engine.Start(t.Context())
	require.NoError(t, err)
	m.Chain, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: at.RPC, WS: at.WS}}})
	require.NoError(t, err)
	t.Cleanup(m.Chain.Close)
	m.sender = seed.Sender{Chain: m.Chain}
	return m
}

// Seed makes tokens, market and wallets.
func (m *Market) Seed() {
	m.T.Helper()
	require.NoError(m.T, seed.Seed(m.T.Context(), m.Chain, m.Keys, seed.Params()))
}

// Send sends instructions that must succeed. builder and err are what an instruction builder returned.
func (m *Market) Send(payer seed.Wallet, others []solana.PrivateKey, build func() (solana.Instruction, error)) solana.Signature {
	m.T.Helper()
	ix, err := build()
	require.NoError(m.T, err)
	sig, err := m.sender.Send(m.T.Context(), payer.Key, others, ix)
	require.NoError(m.T, err)
	return sig
}
