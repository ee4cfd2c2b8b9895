package p2p

import (
	"strings"
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

// A program that waits for a peer, such as a customer for a machine that starts again, reaches it when it is back, and
// not when libp2p dials it again: after a few failures that takes ever longer.
func TestAPeerIsReachedAsSoonAsItIsBack(t *testing.T) {
	n := newNode(t)
	key := newKey(t)
	away := newNode(t, func(o *Options) { o.Key = key })
	at := Peer{Key: key.PublicKey(), Addrs: away.Addrs()}
	require.NoError(t, away.Close())
	ctx := testCtx(t)
	for range 3 {
		require.Error(t, n.Connect(ctx, at))
		n.DialAgain(at.Key)
	}
	listen := strings.Split(at.Addrs[0], "/p2p/")[0]
	newNode(t, func(o *Options) { o.Key, o.Listen = key, []string{listen} })
	began := time.Now()
	require.Eventually(t, func() bool {
		n.DialAgain(at.Key)
		return n.Connect(ctx, at) == nil
	}, time.Minute, 100*time.Millisecond)
	require.Less(t, time.Since(began), 4*time.Second)
}
