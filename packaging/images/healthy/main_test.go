package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAsk(t *testing.T) {
	folder, status := t.TempDir(), http.StatusOK
	require.ErrorContains(t, ask(t.Context(), folder), "not written where it answers")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/healthz", r.URL.Path)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("checks: 3 minutes late\n"))
	}))
	require.NoError(t, os.WriteFile(filepath.Join(folder, addressFile), []byte(s.Listener.Addr().String()+"\n"), 0o600))
	require.NoError(t, ask(t.Context(), folder))
	status = http.StatusServiceUnavailable
	require.ErrorContains(t, ask(t.Context(), folder), "checks: 3 minutes late")
	s.Close()
	require.ErrorIs(t, ask(t.Context(), folder), errUnhealthy)
}
