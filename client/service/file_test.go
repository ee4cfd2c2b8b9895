package service

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileIsReadUpToItsBound(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	content := bytes.Repeat([]byte("x"), 2048)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	got, err := ReadFile(path, 2048)
	require.NoError(t, err)
	require.Equal(t, content, got)

	_, err = ReadFile(path, 2047)
	require.ErrorIs(t, err, ErrTooLarge)
	require.Equal(t, CodeRefused, Classify(err).Code)
	require.ErrorContains(t, err, path+" has more than 1 KiB")

	for _, missing := range []string{path + "x", dir} {
		_, err = ReadFile(missing, 2048)
		require.Equal(t, CodeUsage, Classify(err).Code)
		require.ErrorContains(t, err, missing+" cannot be read: ")
		require.NotErrorIs(t, err, ErrTooLarge)
	}
}

func TestAFailureNamesItsFlag(t *testing.T) {
	plain := errors.New("no failure")
	require.Same(t, plain, OfFlag("bids", plain))
	require.NoError(t, OfFlag("bids", nil))
	_, err := ReadFile(filepath.Join(t.TempDir(), "none"), 1)
	named := OfFlag("bids", err)
	require.Equal(t, "--bids: "+Classify(err).Reason, Classify(named).Reason)
	require.Equal(t, CodeUsage, Classify(named).Code)
	require.NotContains(t, Classify(err).Reason, "--bids", "the first failure stays as it was")
}
