// Package testbundle makes bundles of evidence for tests.
package testbundle

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
)

// Honest is the bundle of an honest machine of tier 1.
func Honest(t testing.TB) *bundle.Bundle {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{6}, ed25519.SeedSize))
	b := &bundle.Bundle{
		Challenge: attest.Challenge{ID: [32]byte{1}, Node: [32]byte{44}, NodeKey: [32]byte(key.Public().(ed25519.PublicKey)), Expiry: 1_700_000_030},
		Created:   1_700_000_000,
	}
	inv := inventory.Inventory{Version: inventory.Version, Cores: 4, RAMMiB: 1024, GPUs: []inventory.GPU{{Model: "NVIDIA A100", UUID: "GPU-00000000-0000-4000-8000-000000000001"}}}
	e, err := inv.Evidence()
	require.NoError(t, err)
	b.Evidence = []attest.Evidence{e}
	require.NoError(t, b.Sign(key))
	return b
}
