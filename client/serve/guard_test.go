package serve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/boltstore"
)

func testStore(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "serve.db"), solana.PublicKey{1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask sends a request to a server without a market behind it.
func ask(t *testing.T, s http.Handler, method, path, body string, header map[string]string) (*httptest.ResponseRecorder, Problem) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8484"
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var p Problem
	if w.Code >= http.StatusBadRequest {
		require.Equal(t, problemType, w.Header().Get("Content-Type"), "%s %s: %s", method, path, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body)
		require.Equal(t, w.Code, p.Status)
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.Detail)
		require.NotEmpty(t, p.NextStep, "%s %s: %s", method, path, p.Detail)
	}
	return w, p
}

func TestGuard(t *testing.T) {
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Hosts: []string{"Gantry.example"}, Log: zerolog.Nop()})
	with := func(more ...string) map[string]string {
		h := map[string]string{"Authorization": "Bearer " + token}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	for _, c := range []struct {
		what, path string
		header     map[string]string
		status     int
		detail     string
	}{
		{"health needs no token", "/health", nil, http.StatusOK, ""},
		{"the document needs no token", "/openapi.json", nil, http.StatusOK, ""},
		{"no token", "/v1/offers", nil, http.StatusUnauthorized, "no token"},
		{"another scheme", "/v1/offers", map[string]string{"Authorization": "Basic " + token}, http.StatusUnauthorized, "no token"},
		{"another token", "/v1/offers", map[string]string{"Authorization": "Bearer gantry_x"}, http.StatusUnauthorized, "not one of this server"},
		{"half a token", "/v1/offers", map[string]string{"Authorization": "Bearer " + token[:20]}, http.StatusUnauthorized, "not one of this server"},
		{"a token is needed to learn what there is", "/nothing", nil, http.StatusUnauthorized, "no token"},
		{"rebound host", "/health", with("Host", "evil.example:8484"), http.StatusMisdirectedRequest, "evil.example"},
		{"host that ends like ours", "/health", with("Host", "localhost.evil.example"), http.StatusMisdirectedRequest, "evil.example"},
		{"no host", "/health", with("Host", ""), http.StatusMisdirectedRequest, "which this server is not"},
		{"localhost", "/health", with("Host", "LOCALHOST:1"), http.StatusOK, ""},
		{"IPv6", "/health", with("Host", "[::1]:8484"), http.StatusOK, ""},
		{"a name of --host", "/health", with("Host", "gantry.example"), http.StatusOK, ""},
		{"another origin", "/openapi.json", with("Origin", "https://evil.example"), http.StatusForbidden, "https://evil.example"},
		{"another port is another origin", "/openapi.json", with("Origin", "http://127.0.0.1:1"), http.StatusForbidden, "127.0.0.1:1"},
		{"origin null", "/health", with("Origin", "null"), http.StatusForbidden, "null"},
		{"own origin", "/health", with("Origin", "http://127.0.0.1:8484"), http.StatusOK, ""},
		{"another site", "/health", with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden, "another site"},
		{"an address bar", "/health", with("Sec-Fetch-Site", "none"), http.StatusOK, ""},
		{"unknown path", "/v1/nothing", with(), http.StatusNotFound, "/v1/nothing"},
		{"no address", "/v1/leases/abc", with(), http.StatusUnprocessableEntity, "validation"},
		{"no base58", "/v1/leases/" + strings.Repeat("0", 40), with(), http.StatusUnprocessableEntity, "validation"},
		{"too many characters", "/v1/offers?q=" + strings.Repeat("x", 513), with(), http.StatusUnprocessableEntity, "validation"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w, p := ask(t, s, http.MethodGet, c.path, "", c.header)
			require.Equal(t, c.status, w.Code, w.Body)
			require.Contains(t, p.Detail, c.detail)
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		})
	}
	w, _ := ask(t, s, http.MethodDelete, "/v1/offers", "", with())
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, http.MethodGet, w.Header().Get("Allow"))
	w, _ = ask(t, s, http.MethodPost, "/v1/offers", strings.Repeat("x", maxBody+1), with())
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

// A handler that panics is answered with a problem, and the server goes on: there is no service here.
func TestPanicIsAProblem(t *testing.T) {
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Log: zerolog.Nop()})
	w, p := ask(t, s, http.MethodGet, "/v1/market", "", map[string]string{"Authorization": "Bearer " + token})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "the server has a fault", p.Detail)
	w, _ = ask(t, s, http.MethodGet, "/health", "", nil)
	require.Equal(t, http.StatusOK, w.Code)
}

func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.db")
	s, err := OpenStore(path, solana.PublicKey{1})
	require.NoError(t, err)
	has, err := s.HasToken()
	require.NoError(t, err)
	require.False(t, has)
	_, err = s.Admits("")
	require.ErrorIs(t, err, boltstore.ErrNotFound)
	first, err := s.NewToken()
	require.NoError(t, err)
	second, err := s.NewToken()
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.NoError(t, s.Close())

	s, err = OpenStore(path, solana.PublicKey{1})
	require.NoError(t, err)
	for text, want := range map[string]bool{first: false, second: true, second + "x": false, "": false} {
		admitted, err := s.Admits(text)
		require.NoError(t, err)
		require.Equal(t, want, admitted)
	}
	require.NoError(t, s.Close())
	_, err = OpenStore(path, solana.PublicKey{2})
	require.ErrorIs(t, err, boltstore.ErrOwner)
}

// The server ends with its context, and closes its listener.
func TestServeEnds(t *testing.T) {
	s := New(Options{Store: testStore(t), Log: zerolog.Nop()})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	res, err := http.Get("http://" + l.Addr().String() + "/health")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	cancel()
	require.NoError(t, <-done)
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}
