package daemon

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// A keeper that stands by is healthy and not ready, says why, and gives its address to the keeper that works.
func TestAKeeperThatStandsByShowsIt(t *testing.T) {
	key, folder := newWallet(t), t.TempDir()
	about := `{"keeper":"` + key.PublicKey().String() + `","key":"` + key.PublicKey().String() + `","domain":"` + records.Domain{1}.String() + `","period_secs":5}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, fileSigner), []byte(about), 0o600))
	s, err := store.Open(filepath.Join(folder, fileStore), store.Options{Keeper: key.PublicKey(), Domain: records.Domain{1}, FirstPeriod: 7})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	signer, err := OpenSigner(SignerConfig{Wallet: key, Data: folder, TTL: time.Second, Log: zerolog.Nop()})
	require.NoError(t, err)
	path := filepath.Join(folder, "signer.sock")
	socket, err := signing.ListenSocket(path)
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- signer.Run(ctx, socket) }()
	t.Cleanup(func() { end(); <-served; require.NoError(t, signer.Close()) })
	at, err := signing.ParseAddress("unix:" + path)
	require.NoError(t, err)
	client := func() *signing.Client {
		c, err := signing.NewClient(signing.ClientOptions{Dial: signing.Dialer{Address: at}, Seen: filepath.Join(t.TempDir(), "seen"), Timeout: time.Minute})
		require.NoError(t, err)
		return c
	}
	first := client()
	require.NoError(t, first.Acquire(t.Context()))
	living, die := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- first.Keep(living) }()

	heard := make(chan string, 100)
	manager := service.Manager{Send: func(state string) error { heard <- state; return nil }, Watchdog: time.Minute}
	k := newKeeper(Config{HTTP: "127.0.0.1:0", Data: t.TempDir(), Service: manager})
	k.remote = client()
	stood := make(chan error, 1)
	go func() { stood <- k.standBy(t.Context()) }()
	var url string
	require.Eventually(t, func() bool {
		addr, err := os.ReadFile(k.c.path(fileHTTP))
		url = "http://" + strings.TrimSpace(string(addr))
		return err == nil && k.remote.Waits() != nil
	}, time.Minute, 10*time.Millisecond)
	get := func(path string) (int, string) {
		resp, err := http.Get(url + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(raw)
	}
	code, said := get("/healthz")
	require.Equal(t, http.StatusOK, code, said)
	code, said = get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, said, "keeper stands by: another keeper has the signer's hold")
	_, said = get("/metrics")
	require.Contains(t, said, "gantry_keeper_standby 1\n")
	require.Contains(t, said, "gantry_keeper_signer_answers 1\n")
	require.NotContains(t, said, "gantry_keeper_signing", "it neither signs nor must not")
	systemdHears(t, heard, "READY=1")
	systemdHears(t, heard, "WATCHDOG=1")
	systemdHears(t, heard, "STATUS=keeper stands by: another keeper has the signer's hold")

	die()
	require.ErrorIs(t, <-kept, context.Canceled)
	require.NoError(t, first.Close())
	select {
	case err := <-stood:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("the keeper still stands by")
	}
	_, err = http.Get(url + "/healthz")
	require.Error(t, err, "the address is free for the keeper that works")
	require.NoError(t, k.remote.Close())
}

// systemdHears waits for a message that begins so, and keeps the others for later.
func systemdHears(t *testing.T, said chan string, begins string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case got := <-said:
			if strings.HasPrefix(got, begins) {
				return
			}
			said <- got
			time.Sleep(time.Millisecond)
		case <-late:
			t.Fatalf("systemd does not hear %s", begins)
		}
	}
}
