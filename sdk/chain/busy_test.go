package chain_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// An endpoint that asks for a pause (status 429 with Retry-After) gets it; the question waits, and is asked again then.
func TestAPauseThatAnEndpointAsksFor(t *testing.T) {
	s := fakerpc.New(t)
	s.Answer("getSlot", 5)
	c := client(t, s)
	_, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	s.Busy("1")
	began := time.Now()
	time.AfterFunc(300*time.Millisecond, func() { s.Busy("") })
	_, err = c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.Equal(t, 3, s.Calls("getSlot"))
}

// Meanwhile another endpoint is asked, and the one that asked for the pause is not, whatever fails.
func TestAPauseOfOneOfTwoEndpoints(t *testing.T) {
	busy, other := fakerpc.New(t), fakerpc.New(t)
	for _, s := range []*fakerpc.Server{busy, other} {
		s.Answer("getSlot", 5)
	}
	c := client(t, busy, other)
	_, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	busy.Busy("20")
	began := time.Now()
	for range 5 {
		_, err = c.Slot(ctxFor(t), chain.Confirmed)
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
	}
	require.Less(t, time.Since(began), 2*time.Second)
	require.Equal(t, 2, busy.Calls("getSlot"), "once well and once busy")
	other.Down(true)
	_, err = c.Slot(ctxFor(t), chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrUnreachable)
	require.Equal(t, 2, busy.Calls("getSlot"), "it asked for 20 seconds")
}

// A pause that is longer than a question may last is an error at once, which says so. However long a pause is asked
// for, it has an end.
func TestALongPause(t *testing.T) {
	s := fakerpc.New(t)
	s.Answer("getSlot", 5)
	c := client(t, s)
	_, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	s.Busy("1000000")
	for range 3 {
		began := time.Now()
		_, err = c.Slot(ctxFor(t), chain.Confirmed)
		require.ErrorIs(t, err, chain.ErrUnreachable)
		require.True(t, chain.Transient(err))
		require.ErrorContains(t, err, "429")
		require.Less(t, time.Since(began), time.Second)
	}
	require.Equal(t, 2, s.Calls("getSlot"))

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = c.Slot(ctx, chain.Confirmed)
	require.ErrorIs(t, err, context.Canceled)
}
