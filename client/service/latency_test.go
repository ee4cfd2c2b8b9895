package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/p2p"
)

func peerOf(t *testing.T) *p2p.Node {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// Machines that answer have a latency, others have none, and neither is asked again within a minute.
func TestLatencies(t *testing.T) {
	self, there := peerOf(t), peerOf(t)
	away := solana.PublicKey{7}
	var asked atomic.Int32
	l := NewLatencies(self, func(ctx context.Context, node solana.PublicKey) error {
		asked.Add(1)
		if node == away {
			return errors.New("not found")
		}
		return self.Connect(ctx, there.Self())
	})
	nodes := []solana.PublicKey{there.Key(), away}
	for range 2 {
		got := l.Of(t.Context(), nodes)
		require.Len(t, got, 2)
		require.True(t, got[there.Key()].Reached)
		require.Positive(t, got[there.Key()].Millis)
		require.Less(t, got[there.Key()].Millis, 1000.0)
		require.False(t, got[there.Key()].Relayed)
		require.Equal(t, Latency{}, got[away])
	}
	require.EqualValues(t, 2, asked.Load())
	shared := []Offer{{NodeKey: there.Key().String()}, {NodeKey: away.String()}}
	with := l.Offers(t.Context(), shared)
	require.True(t, with[0].Latency.Reached)
	require.False(t, with[1].Latency.Reached)
	require.Nil(t, shared[0].Latency, "what others read, too, is not changed")
	l.now = func() time.Time { return time.Now().Add(latencyKeeps + time.Second) }
	l.Of(t.Context(), nodes)
	require.EqualValues(t, 4, asked.Load(), "later they are")
}

// A search of a large market asks a few machines, and few at a time; and ends when it is to.
func TestLatenciesAreBounded(t *testing.T) {
	var mu sync.Mutex
	running, most, all := 0, 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	l := NewLatencies(nil, func(ctx context.Context, _ solana.PublicKey) error {
		mu.Lock()
		running++
		most, all = max(most, running), all+1
		mu.Unlock()
		t := time.NewTimer(5 * time.Millisecond)
		defer t.Stop()
		<-t.C
		mu.Lock()
		running--
		mu.Unlock()
		return errors.New("not found")
	})
	nodes := make([]solana.PublicKey, 1000)
	for i := range nodes {
		nodes[i] = solana.PublicKey{1, byte(i), byte(i >> 8)}
	}
	require.Len(t, l.Of(ctx, nodes), maxLatencies)
	require.Equal(t, maxLatencies, all)
	require.LessOrEqual(t, most, latenciesAtOnce)

	cancel()
	l = NewLatencies(nil, func(ctx context.Context, _ solana.PublicKey) error {
		<-ctx.Done()
		return ctx.Err()
	})
	require.Empty(t, l.Of(ctx, nodes), "a caller that has left")
}
