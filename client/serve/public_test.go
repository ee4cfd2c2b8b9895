package serve

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/web"
)

func publicServer(t *testing.T) *Server {
	t.Helper()
	files, err := web.Files(false)
	require.NoError(t, err)
	return New(Options{Public: true, Page: files, Hosts: []string{"market.example"}, Log: zerolog.Nop()})
}

// A public server has the page and what is of nobody. It has neither an account's operations nor any that changes something, with a
// token or without.
func TestPublicHasNothingOfAnAccount(t *testing.T) {
	s := publicServer(t)
	for _, path := range []string{"/", "/page/main.js", "/health", "/openapi.json"} {
		w, _ := ask(t, s, http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, w.Code, path)
	}
	for path, item := range s.api(&routes{}).OpenAPI().Paths {
		require.Nil(t, item.Post, path)
		require.Nil(t, item.Put, path)
		require.Nil(t, item.Delete, path)
	}
	for _, path := range []string{
		"/v1/leases", "/v1/status", "/v1/events", "/v1/clusters", "/v1/deployments", "/v1/team", "/v1/credits/ways", "/v1/templates", "/v1/catalogue", "/page/funds", "/page/session",
		"/page/leases/x/terminal", "/openai/v1/models", "/page/local/wallet.js",
	} {
		w, _ := ask(t, s, http.MethodGet, path, "", bearer("gantry_x"))
		require.Equal(t, http.StatusNotFound, w.Code, path)
	}
	for _, path := range []string{"/v1/orders", "/page/session", "/page/challenge", "/page/transactions", "/v1/offers"} {
		w, _ := ask(t, s, http.MethodPost, path, "{}", nil)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, path)
	}
}

// Its answers may be kept, for a short time and with a tag; errors may not. Other pages may link to it, and other hosts may not be
// led to it.
func TestPublicAnswersAreKept(t *testing.T) {
	s := publicServer(t)
	w, _ := ask(t, s, http.MethodGet, "/health", "", nil)
	require.Contains(t, w.Header().Get("Cache-Control"), "public, max-age=")
	tag := w.Header().Get("ETag")
	require.NotEmpty(t, tag)
	w, _ = ask(t, s, http.MethodGet, "/health", "", map[string]string{"If-None-Match": tag})
	require.Equal(t, http.StatusNotModified, w.Code)
	require.Empty(t, w.Body.Bytes())
	w, _ = ask(t, s, http.MethodHead, "/health", "", nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Body.Bytes())
	w, _ = ask(t, s, http.MethodGet, "/v1/nothing", "", nil)
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	w, _ = ask(t, s, http.MethodGet, "/", "", map[string]string{"Host": "market.example", "Sec-Fetch-Site": "cross-site"})
	require.Equal(t, http.StatusOK, w.Code)
	w, _ = ask(t, s, http.MethodGet, "/", "", map[string]string{"Host": "evil.example"})
	require.Equal(t, http.StatusMisdirectedRequest, w.Code)
}

// A visitor that asks too much is told to wait; others are not, also behind a proxy on this machine.
func TestPublicIsRateLimited(t *testing.T) {
	s := publicServer(t)
	get := func(remote, forwarded string) int {
		r := httptest.NewRequest(http.MethodGet, "/health", nil)
		r.Host, r.RemoteAddr = "market.example", remote
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	refused := 0
	for range 3 * visitorBurst {
		if get("192.0.2.1:5", "") == http.StatusTooManyRequests {
			refused++
		}
	}
	require.Greater(t, refused, visitorBurst)
	require.Equal(t, http.StatusTooManyRequests, get("192.0.2.1:6", "192.0.2.9"), "a stranger's header is not believed")
	require.Equal(t, http.StatusOK, get("192.0.2.2:5", ""))
	require.Equal(t, http.StatusOK, get("127.0.0.1:5", "192.0.2.1, 192.0.2.3"))
	require.Equal(t, http.StatusTooManyRequests, get("127.0.0.1:5", "192.0.2.1"))
}

// A visitor with many addresses of one network is one visitor, and a proxy on this machine names others.
func TestPublicCountsVisitorsByTheirGroup(t *testing.T) {
	from := func(remote, forwarded string) netip.Prefix {
		r := httptest.NewRequest(http.MethodGet, "/v1/offers", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", forwarded)
		return visitor(r)
	}
	one := from("[2001:db8:1:2:3::1]:5000", "")
	require.Equal(t, one, from("[2001:db8:1:2:4::9]:6000", ""), "another address of the same home")
	require.NotEqual(t, one, from("[2001:db8:2::1]:5000", ""))
	require.NotEqual(t, from("192.0.2.1:1", ""), from("192.0.2.2:1", ""))
	require.Equal(t, from("192.0.2.1:1", ""), from("127.0.0.1:1", "198.51.100.7, 192.0.2.1"), "the proxy names the last one itself")
	require.Equal(t, from("192.0.2.1:1", ""), from("192.0.2.1:1", "198.51.100.7"), "whoever is no proxy of this machine names nobody")
}
