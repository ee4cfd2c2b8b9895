package hostile_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/alone"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/keeper/twins"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

func newNode(t *testing.T, key solana.PrivateKey) *p2p.Node {
	t.Helper()
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func newKey(t *testing.T) solana.PrivateKey {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return key
}

// agent is a process with a machine's key that is connected to a keeper.
func agent(t *testing.T, key solana.PrivateKey, keeper *p2p.Node) *alone.Process {
	t.Helper()
	n := newNode(t, key)
	to, err := p2p.ParsePeer(keeper.Addrs()[0])
	require.NoError(t, err)
	p, err := alone.New(alone.Options{
		Signer: key, Domain: records.Domain{1}, Log: zerolog.Nop(),
		Keepers: func() []solana.PublicKey {
			if n.Connected(to.Key) {
				return []solana.PublicKey{to.Key}
			}
			return nil
		},
		Ask: func(ctx context.Context, k solana.PublicKey, req messages.BootsRequest) (messages.BootsAnswer, error) {
			return p2p.Call[messages.BootsRequest, messages.BootsAnswer](ctx, n, k, alone.BootsProtocol, req)
		},
	})
	require.NoError(t, err)
	p2p.Handle(n, alone.BootProtocol, p.Answer)
	require.NoError(t, n.Remember(to))
	require.NoError(t, n.Keep([]p2p.Peer{to}))
	return p
}

// Over the network: an agent is alone, a copy of it is told to stop, and the keeper logs that once. Who is no node is not
// answered.
func TestACopyFindsOutOverTheNetwork(t *testing.T) {
	keeper, key := newNode(t, newKey(t)), newKey(t)
	var said syncbuf.Buffer
	twins.Serve(keeper, twins.Options{Domain: records.Domain{1}, IsNode: func(k solana.PublicKey) bool { return k == key.PublicKey() }, Log: zerolog.New(&said)})
	original := agent(t, key, keeper)
	require.NoError(t, original.Before(t.Context(), true))
	require.Empty(t, said.String())
	time.Sleep(2500 * time.Millisecond) // their ages differ
	cloned := agent(t, key, keeper)
	require.ErrorIs(t, cloned.Before(t.Context(), true), alone.ErrAnother)
	require.NoError(t, original.Check(t.Context()))
	require.Equal(t, 1, strings.Count(said.String(), "several agents"))

	stranger := agent(t, newKey(t), keeper)
	require.NoError(t, stranger.Before(t.Context(), true))
}
