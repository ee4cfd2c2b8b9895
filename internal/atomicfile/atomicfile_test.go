package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteReplacesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"one", "another"} {
		require.NoError(t, Write(path, []byte(content)))
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(raw))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
	require.ErrorIs(t, Write(filepath.Join(dir, "missing", "f"), nil), fs.ErrNotExist)
}

func TestCreateWritesOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = Create(path, []byte{byte(i)}) })
	}
	wg.Wait()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, raw, 1)
	for i, err := range errs {
		if i == int(raw[0]) {
			require.NoError(t, err, "the first one counts")
		} else {
			require.ErrorIs(t, err, fs.ErrExist)
		}
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
	require.ErrorIs(t, Create(filepath.Join(dir, "missing", "f"), nil), fs.ErrNotExist)
}

func TestCreateWhereThereAreNoHardLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, no := range []error{syscall.EPERM, syscall.EOPNOTSUPP} {
		link := func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: no} }
		require.NoError(t, create(path, []byte("one"), link))
		require.ErrorIs(t, create(path, []byte("another"), link), fs.ErrExist)
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "one", string(raw))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing else is left")
		require.NoError(t, os.Remove(path))
	}
}
