package figures

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
)

func TestLoopbackOnly(t *testing.T) {
	registry := prometheus.NewRegistry()
	healthy := func() []string { return nil }
	for _, addr := range []string{"0.0.0.0:0", ":9464", "192.0.2.1:1"} {
		_, err := New(Options{Addr: addr, Registry: registry, Healthy: healthy, Ready: healthy})
		require.ErrorIs(t, err, ErrNotLoopback, addr)
	}
	options.Without(Options{"127.0.0.1:0", registry, healthy, healthy}, nil, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	_, err := New(Options{Addr: "nonsense", Registry: registry, Healthy: healthy, Ready: healthy})
	require.Error(t, err)
}
