package serve

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Pages of an allowed origin use the server, with the token. Those of others learn nothing, not even by what a browser asks first.
func TestOrigins(t *testing.T) {
	const app, evil = "https://app.example", "https://evil.example"
	origins, err := ParseOrigins([]string{app, "http://127.0.0.1:5173"})
	require.NoError(t, err)
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Origins: origins, Log: zerolog.Nop()})
	from := func(origin string, more ...string) map[string]string {
		h := map[string]string{"Origin": origin, "Sec-Fetch-Site": "cross-site"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	for _, origin := range []string{app, "http://127.0.0.1:5173"} {
		w, _ := ask(t, s, http.MethodGet, "/health", "", from(origin))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, origin, w.Header().Get("Access-Control-Allow-Origin"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
		w, p := ask(t, s, http.MethodGet, "/v1/leases", "", from(origin))
		require.Equal(t, http.StatusUnauthorized, w.Code, "an origin is no token")
		require.Equal(t, origin, w.Header().Get("Access-Control-Allow-Origin"), "its page can read the error")
		require.Contains(t, p.Detail, "no token")
		w, _ = ask(t, s, http.MethodOptions, "/v1/orders", "", from(origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,idempotency-key"))
		require.Less(t, w.Code, 300)
		require.Equal(t, origin, w.Header().Get("Access-Control-Allow-Origin"))
		require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "uthorization")
	}
	for _, origin := range []string{evil, "https://app.example:8443", "http://app.example", "null"} {
		w, p := ask(t, s, http.MethodGet, "/v1/leases", "", from(origin, "Authorization", "Bearer "+token))
		require.Equal(t, http.StatusForbidden, w.Code, origin)
		require.Contains(t, p.NextStep, "--allow-origin")
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		w, _ = ask(t, s, http.MethodOptions, "/v1/orders", "", from(origin, "Access-Control-Request-Method", "POST"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
	w, _ := ask(t, s, http.MethodGet, "/health", "", from(app, "Host", "evil.example"))
	require.Equal(t, http.StatusMisdirectedRequest, w.Code, "the host is compared as always")
	closed := New(Options{Store: store, Log: zerolog.Nop()})
	w, _ = ask(t, closed, http.MethodGet, "/health", "", from(app))
	require.Equal(t, http.StatusForbidden, w.Code, "none is allowed by itself")
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
}

func TestOriginsThatAreNone(t *testing.T) {
	for _, wrong := range []string{"*", "https://*.example.com", "app.example", "https://app.example/path", "null", ""} {
		_, err := ParseOrigins([]string{wrong})
		require.ErrorIs(t, err, ErrOrigin, wrong)
	}
	none, err := ParseOrigins(nil)
	require.NoError(t, err)
	require.False(t, none.has("https://app.example"))
}
