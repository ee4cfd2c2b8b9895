package testmarket

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
)

// Seeded is a market as localnet/seed makes it, without keepers and agents, for tests that send every transaction
// themselves.
type Seeded struct {
	T      testing.TB
	Keys   seed.Keys
	Dir    string // of the keypair files
	Chain  *chain.Client
	sender seed.Sender
}

// NewSeeded starts the engine of EngineVariable with the program, or skips the test when it is not built; Seed makes the market.
func NewSeeded(t testing.TB, counts seed.Counts) *Seeded {
	t.Helper()
	m := &Seeded{T: t, Dir: filepath.Join(t.TempDir(), "keys")}
	var err error
	m.Keys, err = seed.OpenKeys(m.Dir, counts)
	require.NoError(t, err)
	at := localnode.Start(t, chosen(), localnode.Market(t, m.Keys.Authority.Address()))
	m.Chain, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: at.RPC, WS: at.WS}}})
	require.NoError(t, err)
	t.Cleanup(m.Chain.Close)
	m.sender = seed.Sender{Chain: m.Chain}
	return m
}

// Seed makes tokens, market and wallets.
func (m *Seeded) Seed() {
	m.T.Helper()
	require.NoError(m.T, seed.Seed(m.T.Context(), m.Chain, m.Keys, seed.Params(), seed.Models()))
}

// Send sends instructions that must succeed. builder and err are what an instruction builder returned.
func (m *Seeded) Send(payer seed.Wallet, others []solana.PrivateKey, build func() (solana.Instruction, error)) solana.Signature {
	m.T.Helper()
	ix, err := build()
	require.NoError(m.T, err)
	sig, err := m.sender.Send(m.T.Context(), payer.Key, others, ix)
	require.NoError(m.T, err)
	return sig
}
