package signing

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

var testDomain = records.Domain{1, 2, 3}

const firstPeriod = 5

func newKey(t testing.TB) solana.PrivateKey {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return key
}

// open opens a store of a key; the caller closes it.
func open(t testing.TB, path string, key solana.PrivateKey) *Protected {
	s, err := store.Open(path, store.Options{Keeper: key.PublicKey(), Domain: testDomain, FirstPeriod: firstPeriod, LockTimeout: 5 * time.Second})
	require.NoError(t, err)
	return New(s, key, testDomain)
}

func protected(t testing.TB) (*Protected, solana.PrivateKey) {
	key := newKey(t)
	p := open(t, filepath.Join(t.TempDir(), "keeper.db"), key)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, key
}

// folder is one in memory, where there is such a thing: these tests wait for the disk often, and none is about disks.
func folder(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "signing-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// serve serves a key on a listener until the returned function is called.
func serve(t testing.TB, p *Protected, l net.Listener, ttl time.Duration, now func() time.Time) (stop func()) {
	s, err := NewServer(ServerOptions{Key: p, TTL: ttl, Log: zerolog.Nop(), Now: now})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func socket(t testing.TB, path string) net.Listener {
	l, err := ListenSocket(path)
	require.NoError(t, err)
	return l
}

// client is a new run of a keeper with a data folder.
func client(t testing.TB, address, data string) *Client {
	at, err := ParseAddress(address)
	require.NoError(t, err)
	c, err := NewClient(ClientOptions{Dial: Dialer{at, newKey(t)}, Seen: filepath.Join(data, "signer.seen"), Timeout: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func aStatement(node byte, p records.Period, at int64, passed bool) records.CheckStatement {
	return records.CheckStatement{
		Domain: testDomain, Node: solana.PublicKey{node}, Period: p, Kind: records.CheckLiveness, Passed: passed, CheckedAt: at,
	}
}
