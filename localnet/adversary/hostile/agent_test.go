package hostile_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// floodEvery is how often a stranger opens three more streams. Strangers hold places for seconds, so more would only take the processor,
// which they share with the agent here.
const floodEvery = 50 * time.Millisecond

// flood has a stranger with a free key open streams to the agent until ctx ends: some say nothing, some begin a request
// and leave it unfinished.
func flood(ctx context.Context, t *testing.T, to p2p.Peer) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	n, err := p2p.New(p2p.Options{Key: key, Client: true, Log: zerolog.Nop()})
	require.NoError(t, err)
	defer n.Close()
	id, err := p2p.PeerID(to.Key)
	require.NoError(t, err)
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, 300) // more than a peer may hold
	for ; ctx.Err() == nil; time.Sleep(floodEvery) {
		cctx, cancel := context.WithTimeout(ctx, time.Second)
		err := n.Connect(cctx, to)
		cancel()
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for _, p := range []string{messages.Challenge, messages.Status, messages.Deploy} {
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				octx, cancel := context.WithTimeout(network.WithNoDial(ctx, "flood"), 2*time.Second)
				defer cancel()
				s, err := n.Host().NewStream(octx, id, p2p.WireID(p, p2p.MessagesVersion()))
				if err != nil {
					time.Sleep(20 * time.Millisecond)
					return
				}
				_, _ = s.Write([]byte{9}) // the length of a request that does not come
				_ = s.SetReadDeadline(time.Now().Add(10 * time.Second))
				stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
				defer stop()
				_, _ = s.Read(make([]byte, 1))
				_ = s.Reset()
			})
		}
	}
}

// Sixteen free keys on one address, each with streams that say nothing: the agent answers its keeper and its customer
// all the same, and no check fails.
func TestStrangersTakeNobodysPlace(t *testing.T) {
	w := newTestbed(t)
	w.order()
	w.check(lasting(t, 4*time.Second))
	t.Logf("quiet: %v", w.tally())

	at := p2p.Peer{Key: w.node.NodeKey}
	id, err := p2p.PeerID(w.node.NodeKey)
	require.NoError(t, err)
	for _, a := range w.keeper.Host().Peerstore().Addrs(id) {
		at.Addrs = append(at.Addrs, a.String())
	}
	require.NotEmpty(t, at.Addrs)
	ctx := lasting(t, 25*time.Second)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { flood(ctx, t, at) })
	}
	var asked, answered atomic.Int64
	wg.Go(func() {
		require.NoError(t, w.customer.Remember(at))
		time.Sleep(2 * time.Second) // the flood is under way
		for ctx.Err() == nil {
			asked.Add(1)
			// The last question goes on when the flood is over: the end of ctx would end it.
			_, err := p2p.Call[messages.LeaseRequest, messages.Receipt](t.Context(), w.customer, w.node.NodeKey,
				p2p.Protocol{ID: messages.ReceiptOffer, Timeout: 5 * time.Second},
				messages.LeaseRequest{Version: messages.Version, Lease: [32]byte{1}})
			if err == nil {
				answered.Add(1)
			} else {
				t.Logf("question %d: %v", asked.Load(), err)
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
	w.check(ctx)
	wg.Wait()
	got := w.tally()
	t.Logf("flood of 16 keys: %v; %d of %d questions of the customer were answered", got, answered.Load(), asked.Load())
	require.Zero(t, got["liveness failed"]+got["work failed"]+got["health failed"]+got["inventory failed"])
	require.LessOrEqual(t, got["liveness unknown"], got["liveness passed"]/20, "what a busy machine itself loses")
	require.Greater(t, got["liveness passed"], 40)
	require.NotZero(t, got["health passed"])
	require.NotZero(t, got["inventory passed"]) // this keeper measures nothing; TestHostileNetwork has keepers that do
	require.Greater(t, asked.Load(), int64(3))
	require.Equal(t, asked.Load(), answered.Load())

	// A wallet with credits and nothing else is a stranger to a node.
	_, err = p2p.Call[messages.LeaseRequest, messages.LeaseAnswer](t.Context(), w.peerAt(at), w.node.NodeKey,
		p2p.Protocol{ID: messages.Status}, messages.LeaseRequest{Version: messages.Version})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "%v", err)
}

// lasting is a context that is cancelled after a time, as a keeper's is when it ends. A deadline would be one of the questions
// under way, too: they would end by it a moment before the context does, as if their node had not answered.
func lasting(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(d, cancel)
	t.Cleanup(func() { timer.Stop(); cancel() })
	return ctx
}

// peerAt is a second customer, who knows the agent's address.
func (w *testbed) peerAt(at p2p.Peer) *p2p.Node {
	n := w.peer(w.keys.Customers[1].Key)
	require.NoError(w.t, n.Remember(at))
	return n
}
