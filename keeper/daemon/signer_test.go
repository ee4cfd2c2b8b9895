package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// Every transaction that a keeper sends is one that its signer signs.
func TestTheSignerSignsWhatAKeeperSends(t *testing.T) {
	for _, kind := range crank.Kinds {
		require.Contains(t, signing.Transactions, string(kind))
	}
	for _, kind := range []string{"report_vote", "order_award", "auction_award", "prove_omitted_bid", "keeper_update"} {
		require.Contains(t, signing.Transactions, kind)
	}
	for _, kind := range []string{"keeper_register", "keeper_request_exit", "keeper_withdraw"} {
		require.NotContains(t, signing.Transactions, kind)
	}
}

// A signer opens a folder that was prepared for its key, and makes no store of its own.
func TestOpenSigner(t *testing.T) {
	key, dir := newWallet(t), t.TempDir()
	conf := SignerConfig{Wallet: key, Data: dir, TTL: time.Second, Log: zerolog.Nop()}
	_, err := OpenSigner(conf)
	require.ErrorIs(t, err, ErrNoSigner)
	require.ErrorContains(t, err, "gantry-keeper signer init")
	about := `{"keeper":"` + key.PublicKey().String() + `","key":"` + key.PublicKey().String() + `","domain":"` + records.Domain{1}.String() + `","period_secs":5}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileSigner), []byte(about), 0o600))
	_, err = OpenSigner(conf)
	require.ErrorIs(t, err, ErrNoSigner)
	require.NoFileExists(t, filepath.Join(dir, fileStore))

	s, err := store.Open(filepath.Join(dir, fileStore), store.Options{Keeper: key.PublicKey(), Domain: records.Domain{1}, FirstPeriod: 7})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	signer, err := OpenSigner(conf)
	require.NoError(t, err)
	require.EqualValues(t, 7, signer.store.FirstPeriod())
	_, err = OpenSigner(conf)
	require.ErrorIs(t, err, ErrWallet, "one process for one key")
	require.NoError(t, signer.Close())

	conf.Wallet = newWallet(t)
	_, err = OpenSigner(conf)
	require.ErrorIs(t, err, ErrNoSigner)
	require.ErrorContains(t, err, "it is of keeper "+key.PublicKey().String())
}
