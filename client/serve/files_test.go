package serve

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/pkg/sftp"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
)

// stored is a machine whose containers have this machine's files, behind a real server of files.
type stored struct{ Machines }

func (stored) Files(ctx context.Context, lease solana.PublicKey, do func(Files) error) error {
	if lease != (solana.PublicKey{1}) {
		return service.ErrNoLease
	}
	here, there := net.Pipe()
	server, err := sftp.NewServer(there)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve()
	}()
	defer func() {
		_ = here.Close()
		_ = server.Close()
		<-done
	}()
	f, err := container.NewFiles(here, here, MaxFile)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return do(f)
}

// filesServer is a server with such a machine, and what asks it.
func filesServer(t *testing.T) (*Server, func(method, what, path, body string) (status int, answer string, header http.Header)) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Machines: stored{}, Log: zerolog.Nop()})
	return s, func(method, what, path, body string) (int, string, http.Header) {
		at := "/v1/leases/" + solana.PublicKey{1}.String() + "/" + what + "?" + url.Values{"path": {path}}.Encode()
		w, _ := ask(t, s, method, at, body, map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
		return w.Code, w.Body.String(), w.Header()
	}
}

// Files go into a container and come back as they were; a browser only saves them.
func TestFilesOfALease(t *testing.T) {
	_, do := filesServer(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "a b&c.html")
	content := "<script>\x00\xff" + strings.Repeat("x", 300<<10) // more than other requests may have
	status, answer, _ := do(http.MethodPut, "file", name, content)
	require.Equal(t, http.StatusNoContent, status, answer)
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, content, string(raw))
	status, answer, header := do(http.MethodGet, "file", name, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, content, answer)
	require.Equal(t, "application/octet-stream", header.Get("Content-Type"))
	require.Equal(t, "attachment", header.Get("Content-Disposition"))
	require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
	status, answer, _ = do(http.MethodGet, "files", dir, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"name":"a b&c.html","kind":"file","bytes":307210`)
}

func TestFilesThatAreRefused(t *testing.T) {
	s, do := filesServer(t)
	dir := t.TempDir()
	for _, c := range []struct {
		method, what, path, body string
		status                   int
		want                     string
	}{
		{http.MethodGet, "files", filepath.Join(dir, "none"), "", http.StatusConflict, "is not there"},
		{http.MethodGet, "file", dir, "", http.StatusConflict, "is not a file"},
		{http.MethodPut, "file", dir, "x", http.StatusConflict, "is there and is not a file"},
		{http.MethodPut, "file", filepath.Join(dir, "none", "x"), "x", http.StatusConflict, "is not there"},
		{http.MethodPut, "file", filepath.Join(dir, "x\x1b[2J"), "x", http.StatusBadRequest, "cannot be shown"},
		{http.MethodGet, "file", "", "", http.StatusUnprocessableEntity, "path"},
		{http.MethodGet, "file", strings.Repeat("x", 1025), "", http.StatusUnprocessableEntity, "path"},
		{http.MethodPut, "file", filepath.Join(dir, "x"), strings.Repeat("x", MaxFile+1), http.StatusRequestEntityTooLarge, "at most 16777216"},
		{http.MethodPut, "files", filepath.Join(dir, "x"), strings.Repeat("x", maxBody+1), http.StatusRequestEntityTooLarge, "at most 262144"},
	} {
		status, answer, _ := do(c.method, c.what, c.path, c.body)
		require.Equal(t, c.status, status, "%+v: %s", c.path, answer)
		require.Contains(t, answer, c.want)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "nothing was made")
	for range maxFiles { // others do
		give, err := s.files.take("")
		require.NoError(t, err)
		defer give()
	}
	status, answer, _ := do(http.MethodGet, "files", dir, "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, answer, "4 folders and files are read or written already")
}
