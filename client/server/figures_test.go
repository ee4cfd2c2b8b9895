package server

import (
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/internal/alert"
)

func TestFiguresNeedAnAddressOfThisMachine(t *testing.T) {
	for _, c := range []struct {
		f    Figures
		says string
	}{
		{Figures{WebConfig: "web.yml"}, "--web-config is for the address of --metrics"},
		{Figures{Addr: "0.0.0.0:0"}, "not on this machine"},
		{Figures{Addr: "nowhere"}, "--metrics: "},
	} {
		var o serve.Options
		s, err := c.f.open(&o)
		require.ErrorContains(t, err, c.says)
		require.Nil(t, s)
	}
	var o serve.Options
	s, err := Figures{}.open(&o)
	require.NoError(t, err)
	require.Nil(t, s)
	require.Nil(t, o.Metrics)
}

// A server for everyone is ready without accounts; another one is not. Notices are among the figures.
func TestFiguresAreShown(t *testing.T) {
	events, err := serve.OpenEvents(filepath.Join(t.TempDir(), "events.db"), solana.PublicKey{1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = events.Close() })
	for _, public := range []bool{true, false} {
		o := serve.Options{Public: public}
		s, err := Figures{Addr: "127.0.0.1:0"}.open(&o)
		require.NoError(t, err)
		to, err := alert.ParseAll([]string{"https://127.0.0.1:1/"})
		require.NoError(t, err)
		notices, err := alert.New(alert.Options{Targets: to, Memory: events.Notices(), Source: "a test", Log: zerolog.Nop()})
		require.NoError(t, err)
		countNotices(o.Metrics.Registry, notices)
		g, ctx := errgroup.WithContext(t.Context())
		runFigures(ctx, g, s)
		get := func(path string) (int, string) {
			res, err := http.Get("http://" + s.Addr() + path)
			require.NoError(t, err)
			defer res.Body.Close()
			raw, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			return res.StatusCode, string(raw)
		}
		ready, _ := get("/readyz")
		require.Equal(t, public, ready == http.StatusOK)
		status, text := get("/metrics")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, `gantry_serve_notices_total{outcome="dropped"} 0`)
	}
}
