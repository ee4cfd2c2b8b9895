package daemon

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/service"
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

// A signer says that it serves, and its loop stops while a write to its store hangs.
func TestASignerTellsSystemd(t *testing.T) {
	key, dir := newWallet(t), t.TempDir()
	about := `{"keeper":"` + key.PublicKey().String() + `","key":"` + key.PublicKey().String() + `","domain":"` + records.Domain{1}.String() + `","period_secs":5}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileSigner), []byte(about), 0o600))
	s, err := store.Open(filepath.Join(dir, fileStore), store.Options{Keeper: key.PublicKey(), Domain: records.Domain{1}, FirstPeriod: 7})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	said := make(chan string, 100)
	manager := service.Manager{Send: func(state string) error { said <- state; return nil }, Watchdog: time.Minute}
	signer, err := OpenSigner(SignerConfig{Wallet: key, Data: dir, TTL: time.Second, Service: manager, Log: zerolog.Nop()})
	require.NoError(t, err)
	socket, err := signing.ListenSocket(filepath.Join(dir, "signer.sock"))
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- signer.Run(ctx, socket) }()
	systemdHears(t, said, "READY=1")
	systemdHears(t, said, "WATCHDOG=1")
	systemdHears(t, said, "STATUS=serves")

	writes, hangs, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		st := records.CheckStatement{Domain: records.Domain{1}, Node: solana.PublicKey{2}, Period: 8, Kind: records.CheckLiveness}
		_, _, err := signer.store.Sign([]records.CheckStatement{st}, func(records.CheckStatement) (solana.Signature, error) {
			close(writes)
			<-hangs
			return solana.Signature{}, io.ErrUnexpectedEOF
		})
		over <- err
	}()
	<-writes
	turned := make(chan error, 1)
	go func() { turned <- signer.store.Turn() }()
	select {
	case <-turned:
		t.Fatal("the loop goes on while a write hangs")
	case <-time.After(100 * time.Millisecond):
	}
	close(hangs)
	require.NoError(t, <-turned)
	require.ErrorIs(t, <-over, io.ErrUnexpectedEOF)
	end()
	require.NoError(t, <-done)
	systemdHears(t, said, "STOPPING=1")
	require.NoError(t, signer.Close())
}
