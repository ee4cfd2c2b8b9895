package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuantile(t *testing.T) {
	require.Zero(t, quantile(nil, 0.5))
	d := []time.Duration{5, 1, 4, 2, 3}
	require.Equal(t, time.Duration(3), quantile(d, 0.5))
	require.Equal(t, time.Duration(5), quantile(d, 0.95))
	require.Equal(t, time.Duration(1), quantile(d, 0))
	require.Equal(t, []time.Duration{5, 1, 4, 2, 3}, d, "the argument stays as it is")
}

func TestSlope(t *testing.T) {
	require.Zero(t, slope(nil, nil))
	require.Zero(t, slope([]float64{1, 1}, []float64{1, 2}), "no line is vertical")
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-100, 100).Draw(t, "rise"), rapid.Float64Range(-100, 100).Draw(t, "start")
		n := rapid.IntRange(2, 50).Draw(t, "points")
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(i), a*float64(i)+b
		}
		require.InDelta(t, a, slope(x, y), 1e-6)
	})
}

func TestLows(t *testing.T) {
	require.Equal(t, []float64{1, 2}, lows([]float64{3, 1, 2, 9, 4, 2, 0}, 3), "the rest is no group")
	require.Empty(t, lows([]float64{1}, 2))
}
