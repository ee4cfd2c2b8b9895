package signing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHold(t *testing.T) {
	at := time.Unix(1000, 0)
	h := newHold(10*time.Second, func() time.Time { return at })
	a, b := Holder{1}, Holder{2}
	nothing := func() error { return nil }
	require.ErrorIs(t, h.do(a, nothing), ErrHold, "nobody has it")
	require.False(t, h.take(b, false), "after a start one that had it comes first")
	require.True(t, h.take(a, true))
	require.NoError(t, h.do(a, nothing))
	at = at.Add(9 * time.Second)
	require.False(t, h.take(b, true), "it has not lapsed")
	require.ErrorIs(t, h.do(b, nothing), ErrHold)
	require.NoError(t, h.do(a, nothing), "each request renews it")
	at = at.Add(9 * time.Second)
	require.False(t, h.take(b, false))
	require.True(t, h.take(a, false))
	at = at.Add(11 * time.Second)
	require.NoError(t, h.do(a, nothing), "nobody else has it yet")
	at = at.Add(10 * time.Second)
	require.True(t, h.take(b, false))
	require.ErrorIs(t, h.do(a, nothing), ErrHold)
	require.False(t, h.take(a, true))
	h.release(a)
	require.NoError(t, h.do(b, nothing), "it is not a's to give back")
	h.release(b)
	require.ErrorIs(t, h.do(b, nothing), ErrHold)
	require.True(t, h.take(a, false), "at once, since it was given back")

	late := newHold(10*time.Second, func() time.Time { return at })
	at = at.Add(10 * time.Second)
	require.True(t, late.take(b, false), "the one that had it did not come")
}

// A request that is under way ends before another keeper has the hold.
func TestHoldWaitsForRequests(t *testing.T) {
	at := time.Unix(1000, 0)
	h := newHold(time.Second, func() time.Time { return at })
	require.True(t, h.take(Holder{1}, true))
	began, end, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { over <- h.do(Holder{1}, func() error { close(began); <-end; return nil }) }()
	<-began
	at = at.Add(time.Minute)
	taken := make(chan bool, 1)
	go func() { taken <- h.take(Holder{2}, false) }()
	select {
	case <-taken:
		t.Fatal("the hold passed on in the middle of a request")
	case <-time.After(50 * time.Millisecond):
	}
	close(end)
	require.NoError(t, <-over)
	require.True(t, <-taken)
}
