package p2p

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

// A peer, the peers at one address and all strangers take so many bytes, whatever they ask and whatever their number.
func TestBytesAPeerMayTake(t *testing.T) {
	const member = 1000
	known := func(key solana.PublicKey) bool { return key[0] != 's' }
	now := time.Unix(1000, 0)
	b := newBudget(newGate(known), &Options{Allow: func(key solana.PublicKey) Allowance {
		return Allowance{Rate: member, Burst: 5 * member, Shared: key[0] != 'k'}
	}})
	b.now = func() time.Time { return now }
	at := func(s string) ma.Multiaddr {
		m, err := ma.NewMultiaddr(s)
		require.NoError(t, err)
		return m
	}
	taken := func(kind byte, i, n int, from ma.Multiaddr) bool {
		id, err := PeerID(solana.PublicKeyFromBytes(fmt.Appendf(nil, "%c%031d", kind, i)))
		require.NoError(t, err)
		wait := b.take(id, from, n)
		require.LessOrEqual(t, b.take(id, from, 0), time.Hour)
		return wait == 0
	}
	// One answer may be larger than what is left, and is paid for before the next.
	home := at("/ip4/203.0.113.1/tcp/1")
	require.True(t, taken('c', 1, 4*member, home))
	require.True(t, taken('c', 1, 4*member, home))
	require.False(t, taken('c', 1, 1, home))
	now = now.Add(3 * time.Second)
	require.False(t, taken('c', 1, 1, home))
	now = now.Add(2 * time.Second)
	require.True(t, taken('c', 1, 1, home))

	// Keys at one address share; those elsewhere, on this machine, behind a relay, and keepers do not.
	many := func(kind byte, from func(i int) string) (got int) {
		now = now.Add(time.Hour)
		for i := range 40 {
			if taken(kind, i, 5*member, at(from(i))) {
				got++
			}
		}
		return got
	}
	here := func(s string) func(int) string { return func(int) string { return s } }
	require.Equal(t, sharedBy, many('c', here("/ip4/203.0.113.2/udp/1/quic-v1")))
	require.Equal(t, sharedBy, many('c', func(i int) string { return fmt.Sprintf("/ip6/2001:db8:0:%x::1/tcp/1", i) }))
	require.Equal(t, 40, many('c', func(i int) string { return fmt.Sprintf("/ip4/203.0.113.%d/tcp/1", i+3) }))
	require.Equal(t, 40, many('c', here("/ip4/127.0.0.1/tcp/1")))
	require.Equal(t, 40, many('c', here("/ip4/203.0.113.2/tcp/1/p2p/12D3KooWLTDzjnVCqKkLKjD8zFhXJxvW5mKBWWaVDTWLJHQvFRdA/p2p-circuit")))
	require.Equal(t, 40, many('k', here("/ip4/203.0.113.2/tcp/1")))
	// Strangers share, wherever they are.
	now = now.Add(time.Hour)
	got := 0
	for i := range 200 {
		if taken('s', i, 1<<20, at(fmt.Sprintf("/ip4/198.51.100.%d/tcp/1", i))) {
			got++
		}
	}
	require.Equal(t, forAllStrangers().Burst>>20, got)
	require.LessOrEqual(t, len(b.buckets), maxLimited)
}

// The items of a stream wait until the peer may take them: the output of a job is neither lost nor refused.
func TestStreamsWaitForTheirBytes(t *testing.T) {
	ctx := testCtx(t)
	a := newNode(t, func(c *Options) {
		c.Known = func(solana.PublicKey) bool { return true }
		c.Allow = func(solana.PublicKey) Allowance { return Allowance{Rate: 1 << 20, Burst: 16 << 10} }
	})
	b := newNode(t, func(*Options) {})
	p := Protocol{ID: "/test/items/1"}
	HandleStream(a, p, func(_ context.Context, _ solana.PublicKey, n int, send func([]byte) error) error {
		for range n {
			if err := send(bytes.Repeat([]byte{1}, 8<<10)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, b.Connect(ctx, a.Self()))
	got := 0
	require.NoError(t, CallStream(ctx, b, a.Key(), p, 64, func(item []byte) error { got += len(item); return nil }))
	require.Equal(t, 64*8<<10, got)
}
