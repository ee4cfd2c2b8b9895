package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/process"
)

func script(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return path
}

func testSupervisor(t *testing.T) *process.Supervisor {
	t.Helper()
	sup, err := process.New(t.TempDir(), zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

func TestFind(t *testing.T) {
	empty, there := t.TempDir(), t.TempDir()
	for kind, name := range map[Kind]string{Surfnet: "gantry-surfnet", Agave: "solana-test-validator"} {
		variable := map[Kind]string{Surfnet: SurfnetVariable, Agave: AgaveVariable}[kind]
		t.Run(string(kind), func(t *testing.T) {
			t.Chdir(empty)
			t.Setenv("PATH", empty)
			t.Setenv("GANTRY_CACHE", empty)
			t.Setenv(variable, "")
			_, err := Find(kind, "")
			require.ErrorIs(t, err, ErrNotInstalled)
			require.ErrorContains(t, err, variable)

			path := script(t, there, name, "exit 0")
			got, err := Find(kind, path)
			require.NoError(t, err)
			require.Equal(t, path, got)

			t.Setenv("PATH", there)
			got, err = Find(kind, "")
			require.NoError(t, err)
			require.Equal(t, path, got)

			// A wrong choice is an error and not a reason to use another.
			t.Setenv(variable, filepath.Join(empty, "wrong"))
			_, err = Find(kind, "")
			require.ErrorIs(t, err, ErrNotInstalled)
			_, err = Find(kind, filepath.Join(empty, "wrong"))
			require.ErrorIs(t, err, ErrNotInstalled)
		})
	}
	_, err := Find("ganache", "")
	require.ErrorIs(t, err, ErrUnknownKind)
}

func TestSurfnetIsFoundInTheBuildFolderAbove(t *testing.T) {
	root, empty := t.TempDir(), t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	bin, deep := filepath.Join(root, "build", "bin"), filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.MkdirAll(deep, 0o755))
	path := script(t, bin, "gantry-surfnet", "exit 0")
	t.Chdir(deep)
	t.Setenv("PATH", empty)
	t.Setenv(SurfnetVariable, "")
	got, err := Find(Surfnet, "")
	require.NoError(t, err)
	require.Equal(t, path, got)
}

func TestNodeThatEndsIsReported(t *testing.T) {
	dir := t.TempDir()
	e, err := New(Surfnet, Config{
		Binary: script(t, dir, "node", "echo no room for blocks >&2; exit 3"),
		Dir:    filepath.Join(dir, "state"), Supervisor: testSupervisor(t), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	_, err = e.Start(t.Context())
	require.ErrorIs(t, err, ErrNotReady)
	require.ErrorContains(t, err, "no room for blocks")
	<-e.Done()
}

func TestNodeThatNeverAnswersIsStopped(t *testing.T) {
	dir := t.TempDir()
	e, err := New(Agave, Config{
		Binary: script(t, dir, "node", "exec sleep 300"), Dir: filepath.Join(dir, "state"),
		ReadyTimeout: 300 * time.Millisecond, Supervisor: testSupervisor(t), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	_, err = e.Start(t.Context())
	require.ErrorIs(t, err, ErrNotReady)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-e.Done()
	require.ErrorIs(t, e.Travel(t.Context(), time.Now()), ErrUnsupported)
}

func TestBadConfigurations(t *testing.T) {
	dir := t.TempDir()
	binary := script(t, dir, "node", "exit 0")
	sup := testSupervisor(t)
	_, err := New(Surfnet, Config{Binary: binary, Dir: dir})
	require.ErrorContains(t, err, "supervisor")
	_, err = New(Surfnet, Config{Binary: binary, Supervisor: sup})
	require.ErrorContains(t, err, "directory")
	_, err = New("ganache", Config{Binary: binary, Dir: dir, Supervisor: sup})
	require.ErrorIs(t, err, ErrUnknownKind)

	for _, path := range []string{filepath.Join(dir, "missing.so"), binary} {
		e, err := New(Surfnet, Config{
			Binary: binary, Dir: filepath.Join(dir, "state"), Supervisor: sup, Log: zerolog.Nop(),
			Programs: []Program{{ID: solana.NewWallet().PublicKey(), Path: path}},
		})
		require.NoError(t, err)
		_, err = e.Start(t.Context())
		require.Error(t, err, path)
		require.Nil(t, e.Done())
	}
}

func TestKilledNodeIsNoticed(t *testing.T) {
	c := startCluster(t, Surfnet)
	s := c.engine.(*surfnet)
	require.NoError(t, s.cfg.Supervisor.Kill(processName))
	select {
	case <-c.engine.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the end of the node was not noticed")
	}
	require.Error(t, c.engine.Err())
}
