package check

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// A copy of a machine that is connected with its key, and serves nothing yet, costs the machine no check.
func TestACopyThatDoesNotServeCostsNoCheck(t *testing.T) {
	newNode := func(key solana.PrivateKey) *p2p.Node {
		n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { _ = n.Close() })
		return n
	}
	var keys [2]solana.PrivateKey
	for i := range keys {
		var err error
		keys[i], err = solana.NewRandomPrivateKey()
		require.NoError(t, err)
	}
	keeper := newNode(keys[0])
	to, err := p2p.ParsePeer(keeper.Addrs()[0])
	require.NoError(t, err)
	for i := range 3 { // copies on both sides of the machine, in the order in which they come
		n := newNode(keys[1])
		if i == 1 {
			p2p.Handle(n, challengeProtocol, func(_ context.Context, _ solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Liveness: &messages.Liveness{Leases: []messages.LeaseStatus{}}}, nil
			})
		}
		require.NoError(t, n.Remember(to))
		require.NoError(t, n.Keep([]p2p.Peer{to}))
		require.Eventually(t, func() bool { return n.Connected(to.Key) && keeper.Connected(keys[1].PublicKey()) }, time.Minute, time.Millisecond)
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		resp, err := Network{Node: keeper}.Ask(ctx, keys[1].PublicKey(), messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckLiveness})
		cancel()
		require.NoError(t, err)
		require.NotNil(t, resp.Liveness)
	}
}
