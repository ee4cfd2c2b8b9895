package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMarketClock(t *testing.T) {
	var c marketClock
	here := time.Unix(1_700_000_000, 0)
	for name, x := range map[string]struct{ chain, want time.Duration }{
		"right": {0, 0}, "a block's age": {-2 * time.Second, 0}, "rounding": {time.Second, 0},
		"ahead of the chain": {-5 * time.Second, -5 * time.Second}, "behind it": {9 * time.Second, 9 * time.Second},
	} {
		off, differs := c.correct(here.Add(x.chain), here)
		require.Equal(t, x.want, off, name)
		require.Equal(t, x.want != 0, differs, name)
		require.InDelta(t, float64(x.want), float64(time.Until(c.Now())), float64(time.Second), name)
	}
}
