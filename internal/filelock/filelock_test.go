package filelock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Each opening of a file has its own locks, so that two of them in a process stand for two processes.
func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	require.NoError(t, Try(first, false))
	require.ErrorIs(t, Try(second, false), ErrHeld)
	require.ErrorIs(t, Try(second, true), ErrHeld)
	locked := make(chan error)
	go func() { locked <- Wait(second) }()
	require.NoError(t, first.Close())
	require.NoError(t, <-locked)
}

func TestSharedLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second, third := open(t, path), open(t, path), open(t, path)
	require.NoError(t, Try(first, true))
	require.NoError(t, Try(second, true))
	require.ErrorIs(t, Try(third, false), ErrHeld)
}

// A store that bbolt has open is locked, and one that is locked is not opened.
func TestLocksOfBolt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db, err := bolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	f := open(t, path)
	require.ErrorIs(t, Try(f, true), ErrHeld)
	require.NoError(t, db.Close())
	require.NoError(t, Try(f, true))
	_, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Millisecond})
	require.ErrorIs(t, err, bolterrors.ErrTimeout)
}
