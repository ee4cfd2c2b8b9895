package server

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/sdk/records"
)

func get(t *testing.T, url string) (int, string) {
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func healthy() []string { return nil }

func TestServer(t *testing.T) {
	m := NewMetrics(Gauge{Name: "chain_slot", Help: "Newest slot.", Read: func() float64 { return 42 }})
	m.Check(records.CheckWork, false, time.Second)
	m.Final(9, 3*time.Second)
	var wrong []string
	s, err := figures.New(figures.Options{Addr: "127.0.0.1:0", Registry: m.Registry, Healthy: healthy, Ready: func() []string { return wrong }})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	base := "http://" + s.Addr()

	code, body := get(t, base+"/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, body, `gantry_keeper_checks_total{kind="work",result="failed"} 1`)
	require.Contains(t, body, "gantry_keeper_chain_slot 42")
	require.Contains(t, body, "gantry_keeper_last_final_period 9")
	code, _ = get(t, base+"/readyz")
	require.Equal(t, 200, code)
	wrong = []string{"keeper is pending"}
	code, body = get(t, base+"/readyz")
	require.Equal(t, 503, code)
	require.Equal(t, "keeper is pending\n", body)
	code, _ = get(t, base+"/healthz")
	require.Equal(t, 200, code)

	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
