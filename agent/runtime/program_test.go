package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// An upgrade replaces runsc. Containers that run keep theirs until their leases are over.
func TestAContainerKeepsTheRunscThatStartedIt(t *testing.T) {
	leases, programs, installed := t.TempDir(), filepath.Join(t.TempDir(), "programs"), filepath.Join(t.TempDir(), "runsc")
	start := func() string {
		s := Sandbox{Runsc: installed, Programs: programs}
		require.NoError(t, s.keepPrograms(leases, zerolog.Nop()))
		info, err := os.Stat(s.Runsc)
		require.NoError(t, err)
		require.NotZero(t, info.Mode().Perm()&0o100, "it can be run")
		return s.Runsc
	}
	content := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	require.NoError(t, os.WriteFile(installed, []byte("first"), 0o755))
	first := start()
	require.Equal(t, first, start(), "one copy of one program")
	lease := leaseDir(filepath.Join(leases, "l"))
	require.NoError(t, os.Mkdir(string(lease), 0o700))
	require.NoError(t, lease.write(lease.container(), container{Runsc: first}))

	require.NoError(t, os.WriteFile(installed+".new", []byte("second"), 0o755))
	require.NoError(t, os.Rename(installed+".new", installed))
	second := start()
	require.NotEqual(t, first, second)
	require.Equal(t, "first", content(first), "the lease goes on with it")
	require.Equal(t, "second", content(second))

	require.NoError(t, os.RemoveAll(string(lease)))
	start()
	require.NoFileExists(t, first)
	require.Equal(t, "second", content(second))
}

// A copy that was not finished is not taken for one.
func TestACopyIsWhole(t *testing.T) {
	programs, installed := t.TempDir(), filepath.Join(t.TempDir(), "runsc")
	require.NoError(t, os.WriteFile(installed, []byte("whole"), 0o755))
	kept, err := keepProgram(programs, installed)
	require.NoError(t, err)
	require.NoError(t, os.Remove(kept))
	require.NoError(t, os.WriteFile(kept+".new", []byte("who"), 0o755))
	again, err := keepProgram(programs, installed)
	require.NoError(t, err)
	require.Equal(t, kept, again)
	text, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, "whole", string(text))
	require.NoFileExists(t, kept+".new")
}
