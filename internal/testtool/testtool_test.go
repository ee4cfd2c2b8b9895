package testtool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServersAnswerAndEnd(t *testing.T) {
	var where struct{ URL string }
	s, err := Start(t.Context(), &where, "s3", "bucket", "key", "secret")
	require.NoError(t, err)
	require.Contains(t, where.URL, "http://127.0.0.1:")
	said, err := s.Ask("advance 1h")
	require.NoError(t, err)
	require.Equal(t, "advanced", said)
	require.NoError(t, s.Close())
	_, err = s.Ask("advance 1h")
	require.Error(t, err)
}

// What went wrong is what the program says.
func TestWhatTheProgramSays(t *testing.T) {
	_, err := Run(t.Context(), strings.NewReader("no picture"), "qr")
	require.ErrorContains(t, err, "png: invalid format")
	_, err = Start(t.Context(), &struct{}{}, "s3")
	require.ErrorContains(t, err, "want BUCKET ACCESS-KEY SECRET-KEY")
	var where struct{ URL string }
	s, err := Start(t.Context(), &where, "s3", "bucket", "key", "secret")
	require.NoError(t, err)
	_, err = s.Ask("dance")
	require.Error(t, err)
	require.ErrorContains(t, s.Close(), `unknown command "dance"`)
}

func TestStartGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "silent")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 100\n"), 0o700))
	t.Setenv(Variable, path)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := Start(ctx, &struct{}{}, "s3")
	require.Error(t, err)
	require.Less(t, time.Since(begin), endWait)
	t.Setenv(Variable, "/nowhere")
	_, err = servers.path(t.Context())
	require.ErrorIs(t, err, ErrNotFound)
}
