package p2p

import (
	"context"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	a, b := newNode(t), newNode(t)
	_, _, err := a.RoundTrip(t.Context(), b.Key())
	require.ErrorIs(t, err, ErrUnknown, "not connected: nothing is dialled")
	require.NoError(t, a.Connect(testCtx(t), b.Self()))
	took, path, err := a.RoundTrip(testCtx(t), b.Key())
	require.NoError(t, err)
	require.Equal(t, Direct, path)
	require.Positive(t, took)
	require.Less(t, took, time.Second)
}

// A peer that returns other bytes, or none, has no round trip.
func TestNoRoundTrip(t *testing.T) {
	a, b := newNode(t), newNode(t)
	require.NoError(t, a.Connect(testCtx(t), b.Self()))
	b.host.SetStreamHandler(ping.ID, func(s network.Stream) {
		_, _ = s.Write(make([]byte, ping.PingSize))
	})
	_, _, err := a.RoundTrip(testCtx(t), b.Key())
	require.Error(t, err)
	b.host.SetStreamHandler(ping.ID, func(network.Stream) {})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err = a.RoundTrip(ctx, b.Key())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
