package governance

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/realm"
)

// A proposal takes what its treasury alone signs, and says what else is wrong with a file.
func TestReadChanges(t *testing.T) {
	h := &Holders{Realm: realm.Named(realm.Mainnet, "Gantry", market.ProgramID, solana.PublicKey{1}, solana.PublicKey{})}
	file := func(content string) []string {
		path := filepath.Join(t.TempDir(), "change")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return []string{path}
	}
	pauseBy := func(by solana.PublicKey) string {
		pause, err := ix.MarketPause(ix.MarketPauseArgs{By: by, Paused: 1})
		require.NoError(t, err)
		b, err := realm.Encode(pause)
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(b) + "\n"
	}
	changes, err := h.ReadChanges(file(pauseBy(h.Realm.Treasury)))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Equal(t, "market_pause", ChangeName(changes[0]))
	for want, files := range map[string][]string{
		"must sign this change":      file(pauseBy(solana.PublicKey{2})),
		"without a change":           nil,
		"neither JSON nor base64":    file("fee_bps=1100"),
		"another length":             file(base64.StdEncoding.EncodeToString([]byte("fee_bps"))),
		"cannot be read":             {"/nowhere"},
		`program "x" is not an addr`: file(`{"instructions":[{"program":"x"}]}`),
	} {
		_, err := h.ReadChanges(files)
		require.ErrorContains(t, err, want)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, want)
	}
}
