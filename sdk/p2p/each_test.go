package p2p

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// Two processes with one key are both asked, each over its own connection.
func TestEachProcessOfAKeyIsAsked(t *testing.T) {
	type ping struct {
		N int `cbor:"1,keyasint"`
	}
	type pong struct {
		Who string `cbor:"1,keyasint"`
	}
	p := Protocol{ID: "/gantry/test/each", Rate: 10, Burst: 10}
	keeper, key := newNode(t), newKey(t)
	to, err := ParsePeer(keeper.Addrs()[0])
	require.NoError(t, err)
	for _, who := range []string{"first", "second"} {
		n := newNode(t, func(o *Options) { o.Key = key })
		Handle(n, p, func(_ context.Context, _ solana.PublicKey, r ping) (pong, error) {
			require.Equal(t, 7, r.N)
			return pong{who}, nil
		})
		require.NoError(t, n.Remember(to))
		require.NoError(t, n.Keep([]Peer{to}))
		require.Eventually(t, func() bool { return n.Connected(to.Key) }, time.Minute, time.Millisecond)
	}
	var who []string
	require.Eventually(t, func() bool {
		all, err := CallEach[ping, pong](testCtx(t), keeper, key.PublicKey(), p, ping{7}, 8)
		require.NoError(t, err)
		who = nil
		for _, a := range all {
			who = append(who, a.Who)
		}
		return len(who) == 2
	}, time.Minute, 10*time.Millisecond)
	require.ElementsMatch(t, []string{"first", "second"}, who)
	all, err := CallEach[ping, pong](testCtx(t), keeper, key.PublicKey(), p, ping{7}, 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
}
