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
		off, believed := c.correct([]time.Time{here.Add(x.chain), here.Add(x.chain)}, here, false)
		require.Equal(t, x.want, off, name)
		require.True(t, believed, name)
		require.InDelta(t, float64(x.want), float64(time.Until(c.Now())), float64(time.Second), name)
	}
}

// Whoever answers for the chain's time can bring a node to show its bid two seconds early at most, or fifteen when all
// endpoints agree to lie.
func TestA11OneEndpointsClockRevealsNoBidEarly(t *testing.T) {
	here := time.Unix(1_700_000_000, 0)
	at := func(offsets ...time.Duration) (out []time.Time) {
		for _, o := range offsets {
			out = append(out, here.Add(o))
		}
		return out
	}
	var c marketClock
	for name, x := range map[string]struct {
		times    []time.Time
		local    bool
		want     time.Duration
		believed bool
	}{
		"one says an hour later":          {at(time.Hour), false, forwardByOne, false},
		"one of two says so":              {at(0, time.Hour), false, 0, true},
		"two of three say so":             {at(0, time.Hour, time.Hour), false, 0, true},
		"all say so":                      {at(time.Hour, time.Hour), false, forwardBySeveral, false},
		"this clock is ten seconds late":  {at(10*time.Second, 10*time.Second), false, 10 * time.Second, true},
		"one says an hour earlier":        {at(-time.Hour), false, -backward, false},
		"one of three says an hour early": {at(-time.Hour, 0, 0), false, 0, true},
		"a local network's clock moved":   {at(time.Hour), true, time.Hour, true},
	} {
		off, believed := c.correct(x.times, here, x.local)
		require.Equal(t, x.want, off, name)
		require.Equal(t, x.believed, believed, name)
	}
}
