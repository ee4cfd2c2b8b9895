package p2p

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever names an address that is not its own has all of the market dial it: a few times in the first minutes, and
// hardly ever then. A peer that was there just now is looked for as before.
func TestWhereNobodyWasIsHardlyDialled(t *testing.T) {
	dials := func(seen, from time.Time, d time.Duration) (n int) {
		pause := dialPause
		for at := from; at.Sub(from) < d; at = at.Add(pause) {
			n++
			pause = nextPause(pause, seen, at)
		}
		return n
	}
	now := time.Unix(1_800_000_000, 0)
	require.LessOrEqual(t, dials(time.Time{}, now, time.Hour), 24, "never seen")
	require.LessOrEqual(t, dials(now.Add(-absentAfter-time.Second), now, time.Hour), 24, "not seen for long")
	require.Greater(t, dials(now, now, absentAfter), 170, "seen just now")
}
