package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
)

// Anybody compares what runs with what they have built, before there is a market and without a wallet.
func TestTheDeployedProgramIsComparedByCommand(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	const artifact = "../../program/artifacts/gantry_market.so"
	file, err := os.ReadFile(artifact)
	require.NoError(t, err)
	sum := sha256.Sum256(file)
	hash := hex.EncodeToString(sum[:])
	s := newShell(t, w, testmarket.Key(t))
	var got struct {
		Address, Account, Authority, SHA256, ComparedWith string
		Equal                                             *bool
	}
	s.ok(&got, "market", "program")
	require.Equal(t, []string{market.ProgramID.String(), market.ProgramDataAddress(market.ProgramID).String(), w.Authority.PublicKey().String(), hash},
		[]string{got.Address, got.Account, got.Authority, got.SHA256})
	require.Nil(t, got.Equal)
	for _, with := range []string{artifact, hash} {
		s.ok(&got, "market", "program", "--compare", with)
		require.True(t, *got.Equal)
		require.Equal(t, with, got.ComparedWith)
	}
	r := s.run(t.Context(), "market", "program", "--compare", artifact)
	require.Equal(t, cli.ExitDone, r.code, r.err)
	t.Logf("\n%s", r.out)

	other := filepath.Join(t.TempDir(), "other.so")
	file[len(file)/2] ^= 1
	require.NoError(t, os.WriteFile(other, file, 0o600))
	r = s.fails(cli.ExitRefused, "is not "+other, "market", "program", "--compare", other)
	require.Contains(t, r.out, "DIFFERENT from")
	s.fails(cli.ExitRefused, "is not 0000", "market", "program", "--compare", hex.EncodeToString(make([]byte, 32)))
	s.fails(cli.ExitUsage, "cannot be read", "market", "program", "--compare", "/nowhere.so")
	s.fails(cli.ExitUsage, "is not an address", "market", "program", "--buffer", "x")
	s.fails(cli.ExitRefused, "no code of the upgradeable loader", "market", "program", "--buffer", w.Authority.PublicKey().String())
}
