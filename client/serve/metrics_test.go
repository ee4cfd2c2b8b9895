package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Requests are counted by the route that answers them. What strangers invent, methods and paths, makes no labels.
func TestRequestsAreCounted(t *testing.T) {
	store, m := testStore(t), NewMetrics()
	token, err := store.NewToken()
	require.NoError(t, err)
	s := httptest.NewServer(New(Options{Store: store, Metrics: m, Log: zerolog.Nop()}))
	t.Cleanup(s.Close)
	ask := func(method, path, token string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		return res.StatusCode
	}
	require.Equal(t, http.StatusOK, ask(http.MethodGet, "/health", ""))
	require.Equal(t, http.StatusUnprocessableEntity, ask(http.MethodGet, "/v1/leases/nobody", token))
	for _, path := range []string{"/v1/leases/a", "/v1/leases/b"} {
		require.Equal(t, http.StatusUnauthorized, ask(http.MethodGet, path, ""))
	}
	require.Equal(t, http.StatusNotFound, ask("BREW", "/pot/1", token))
	for labels, want := range map[[3]string]float64{
		{"GET", "/health", "200"}:         1,
		{"GET", "/v1/leases/{id}", "422"}: 1,
		{"GET", routeOther, "401"}:        2,
		{routeOther, routeOther, "404"}:   1,
	} {
		require.InDelta(t, want, testutil.ToFloat64(m.requests.WithLabelValues(labels[:]...)), 0, "%v", labels)
	}
	require.Equal(t, 4, testutil.CollectAndCount(m.requests))
	require.NotEmpty(t, m.Ready(), "the customer's accounts were not read")
}
