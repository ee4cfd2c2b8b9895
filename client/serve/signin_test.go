package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/web"
)

// paged is a server with the page, a clock that the test sets, and a token.
func paged(t *testing.T) (s *Server, now *time.Time, token string) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	files, err := web.Files(true)
	require.NoError(t, err)
	s = New(Options{Store: store, Page: files, Log: zerolog.Nop()})
	at := time.Unix(1_700_000_000, 0)
	s.signIns.now = func() time.Time { return at }
	return s, &at, token
}

func (s *Server) code(t *testing.T) string {
	t.Helper()
	link, err := s.PageLink()
	require.NoError(t, err)
	code, ok := strings.CutPrefix(link, "/#code=")
	require.True(t, ok, link)
	return code
}

func exchange(t *testing.T, s *Server, code string, header map[string]string) (int, string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"code": code})
	require.NoError(t, err)
	all := map[string]string{"Content-Type": "application/json"}
	for k, v := range header {
		all[k] = v
	}
	w, _ := ask(t, s, http.MethodPost, signInPath, string(body), all)
	var out signInReply
	if w.Code == http.StatusOK {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
		require.Empty(t, w.Header().Get("Set-Cookie"))
	}
	return w.Code, out.Token
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// A code signs one browser in, once; its token is good until it ends or the browser signs out.
func TestCodeIsGoodOnce(t *testing.T) {
	s, now, master := paged(t)
	admitted := func(token string) bool {
		w, _ := ask(t, s, http.MethodGet, "/v1/nothing", "", bearer(token))
		return w.Code == http.StatusNotFound
	}
	status, _ := exchange(t, s, "x", nil)
	require.Equal(t, http.StatusUnauthorized, status, "there is no code yet")
	code := s.code(t)
	status, _ = exchange(t, s, code+"x", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = exchange(t, s, code, map[string]string{"Origin": "https://evil.example"})
	require.Equal(t, http.StatusForbidden, status)
	status, _ = exchange(t, s, code, map[string]string{"Host": "evil.example"})
	require.Equal(t, http.StatusMisdirectedRequest, status)
	status, first := exchange(t, s, code, map[string]string{"Origin": "http://127.0.0.1:8484"})
	require.Equal(t, http.StatusOK, status)
	require.True(t, admitted(first))
	require.True(t, admitted(master))
	require.False(t, admitted(first+"x"))
	status, _ = exchange(t, s, code, nil)
	require.Equal(t, http.StatusUnauthorized, status, "a code is good once")

	// A new code takes the place of the one before, and ends.
	old, code := s.code(t), s.code(t)
	status, _ = exchange(t, s, old, nil)
	require.Equal(t, http.StatusUnauthorized, status)
	*now = now.Add(codeLasts)
	status, _ = exchange(t, s, code, nil)
	require.Equal(t, http.StatusUnauthorized, status)
	code = s.code(t)
	*now = now.Add(codeLasts - time.Second)
	status, second := exchange(t, s, code, nil)
	require.Equal(t, http.StatusOK, status)

	// Signing out ends this browser's token, and takes one to do.
	w, _ := ask(t, s, http.MethodDelete, signInPath, "", nil)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	w, _ = ask(t, s, http.MethodDelete, signInPath, "", bearer(second))
	require.Equal(t, http.StatusNoContent, w.Code)
	require.False(t, admitted(second))
	require.True(t, admitted(first))
	*now = now.Add(signedIn)
	require.False(t, admitted(first))
	require.Empty(t, s.signIns.tokens)
	require.True(t, admitted(master))
}

// The page's files need no token, for the server's own hosts; the rest of the paths do, and a server without a page has none.
func TestPageNeedsNoToken(t *testing.T) {
	s, _, token := paged(t)
	for _, path := range []string{"/", "/page/main.js", "/page/page.css"} {
		w, _ := ask(t, s, http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self'")
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		w, _ = ask(t, s, http.MethodGet, path, "", map[string]string{"Host": "evil.example"})
		require.Equal(t, http.StatusMisdirectedRequest, w.Code, path)
		w, _ = ask(t, s, http.MethodGet, path, "", map[string]string{"Sec-Fetch-Site": "cross-site"})
		require.Equal(t, http.StatusForbidden, w.Code, path)
		w, _ = ask(t, s, http.MethodPost, path, "", nil)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, path)
	}
	for _, path := range []string{"/page/", "/page/views", "/page/nothing.js", "/page/../v1/leases"} {
		w, _ := ask(t, s, http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusUnauthorized, w.Code, path)
		w, _ = ask(t, s, http.MethodGet, path, "", bearer(token))
		require.NotEqual(t, http.StatusOK, w.Code, path)
	}
	bare := New(Options{Store: testStore(t), Log: zerolog.Nop()})
	w, _ := ask(t, bare, http.MethodGet, "/", "", nil)
	require.NotEqual(t, http.StatusOK, w.Code)
}
