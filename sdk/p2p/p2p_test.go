package p2p

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func newKey(t testing.TB) solana.PrivateKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func newNode(t testing.TB, mod ...func(*Options)) *Node {
	t.Helper()
	cfg := Options{Key: newKey(t), Listen: []string{LoopbackListen}, Log: zerolog.Nop()}
	for _, m := range mod {
		m(&cfg)
	}
	n, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func testCtx(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestIdentity(t *testing.T) {
	k := newKey(t)
	id, err := PeerID(k.PublicKey())
	require.NoError(t, err)
	back, err := PublicKey(id)
	require.NoError(t, err)
	require.Equal(t, k.PublicKey(), back)
	_, err = PeerID(solana.PublicKey{})
	require.ErrorIs(t, err, ErrIdentity)
	_, err = PublicKey("nonsense")
	require.ErrorIs(t, err, ErrIdentity)
	_, err = New(Options{Key: k[:12]})
	require.ErrorIs(t, err, ErrIdentity)

	n := newNode(t, func(c *Options) { c.Key = k })
	require.Equal(t, id, n.ID())
	require.NotEmpty(t, n.Addrs())
	p, err := ParsePeer(n.Addrs()[0])
	require.NoError(t, err)
	require.Equal(t, k.PublicKey(), p.Key)
	_, err = ParsePeer("/ip4/127.0.0.1/tcp/1")
	require.ErrorIs(t, err, ErrAddress)
	other := Peer{Key: newKey(t).PublicKey(), Addrs: n.Addrs()}
	require.ErrorIs(t, n.Remember(other), ErrAddress)
	require.ErrorIs(t, n.Keep([]Peer{other}), ErrAddress)
}

type echoReq struct {
	Text string `cbor:"1,keyasint"`
	N    int    `cbor:"2,keyasint"`
}

type echoResp struct {
	Text string           `cbor:"1,keyasint"`
	From solana.PublicKey `cbor:"2,keyasint"`
}

var echo = Protocol{ID: "/gantry/test-echo/1", MaxRequest: 1 << 10, MaxResponse: 1 << 10, Rate: 1000, Burst: 1000, Timeout: 2 * time.Second}

func TestCall(t *testing.T) {
	ctx := testCtx(t)
	a, b := newNode(t), newNode(t, func(c *Options) { c.Listen, c.Client = nil, true })
	Handle(a, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		switch r.Text {
		case "refuse":
			return echoResp{}, Refuse(CodeRefused, "not for you")
		case "refuse at length":
			return echoResp{}, Refuse(CodeRefused, "%s", "."+strings.Repeat("€", maxMessage))
		case "refuse in bytes":
			return echoResp{}, Refuse(CodeRefused, "\xff is no text")
		case "crash":
			return echoResp{}, errors.New("secret detail")
		case "big":
			return echoResp{Text: string(make([]byte, 4<<10))}, nil
		}
		return echoResp{Text: r.Text, From: from}, nil
	})
	call := func(text string) (echoResp, error) {
		return Call[echoReq, echoResp](ctx, b, a.Key(), echo, echoReq{Text: text, N: 3})
	}
	_, err := call("x")
	require.ErrorIs(t, err, ErrUnknown)
	require.NoError(t, b.Remember(a.Self()))
	resp, err := call("hello")
	require.NoError(t, err)
	require.Equal(t, echoResp{"hello", b.Key()}, resp)
	require.True(t, b.Connected(a.Key()))
	require.Contains(t, a.Peers(), b.Key())

	_, err = call("refuse")
	require.True(t, IsCode(err, CodeRefused), err)
	require.Contains(t, err.Error(), "not for you")
	for _, foreign := range []string{"refuse at length", "refuse in bytes"} {
		_, err = call(foreign)
		require.True(t, IsCode(err, CodeRefused), "%s: %v", foreign, err)
	}
	_, err = call("crash")
	require.True(t, IsCode(err, CodeInternal), err)
	require.NotContains(t, err.Error(), "secret")
	_, err = call("big")
	require.Error(t, err)
	_, err = call(string(make([]byte, 2<<10)))
	require.ErrorIs(t, err, ErrTooBig)

	_, err = Call[string, echoResp](ctx, b, a.Key(), echo, "another type")
	require.True(t, IsCode(err, CodeBadRequest), err)

	resp, err = call("still here")
	require.NoError(t, err)
	require.Equal(t, "still here", resp.Text)
}

func TestCallTimeoutAndCancel(t *testing.T) {
	a, b := newNode(t), newNode(t)
	p := echo
	p.ID, p.Timeout = "/gantry/test-slow/1", 300*time.Millisecond
	ended := make(chan struct{}, 4)
	Handle(a, p, func(ctx context.Context, _ solana.PublicKey, _ echoReq) (echoResp, error) {
		<-ctx.Done()
		ended <- struct{}{}
		return echoResp{}, ctx.Err()
	})
	require.NoError(t, b.Remember(a.Self()))
	start := time.Now()
	_, err := Call[echoReq, echoResp](testCtx(t), b, a.Key(), p, echoReq{})
	require.Error(t, err)
	require.Less(t, time.Since(start), 2*time.Second)
	<-ended
	ctx, cancel := context.WithCancel(testCtx(t))
	time.AfterFunc(50*time.Millisecond, cancel)
	start = time.Now()
	_, err = Call[echoReq, echoResp](ctx, b, a.Key(), p, echoReq{})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(start), 250*time.Millisecond)
}

// A node that does not answer in time is what the caller's deadline says, whoever notices it first: keepers take an answer
// that was lost on the way for something else than none.
func TestNoAnswerInTimeIsAlwaysTheDeadline(t *testing.T) {
	a, b := newNode(t), newNode(t)
	p := echo
	p.ID, p.Timeout = "/gantry/test-silent/1", time.Minute
	done := testCtx(t).Done()
	Handle(a, p, func(ctx context.Context, _ solana.PublicKey, _ echoReq) (echoResp, error) {
		select {
		case <-ctx.Done():
		case <-done:
		}
		return echoResp{}, errors.New("too late")
	})
	require.NoError(t, b.Remember(a.Self()))
	p.Timeout = 20 * time.Millisecond
	for range 12 {
		_, err := Call[echoReq, echoResp](testCtx(t), b, a.Key(), p, echoReq{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

func TestRateLimit(t *testing.T) {
	ctx := testCtx(t)
	a, b, c := newNode(t), newNode(t), newNode(t)
	p := echo
	p.ID, p.Rate, p.Burst = "/gantry/test-rate/1", 0.01, 3
	Handle(a, p, func(context.Context, solana.PublicKey, echoReq) (echoResp, error) { return echoResp{}, nil })
	for _, n := range []*Node{b, c} {
		require.NoError(t, n.Remember(a.Self()))
		for range 3 {
			_, err := Call[echoReq, echoResp](ctx, n, a.Key(), p, echoReq{})
			require.NoError(t, err)
		}
		_, err := Call[echoReq, echoResp](ctx, n, a.Key(), p, echoReq{})
		require.True(t, IsCode(err, CodeRateLimited), err)
	}
}

func TestStream(t *testing.T) {
	ctx := testCtx(t)
	a, b := newNode(t), newNode(t)
	p := echo
	p.ID = "/gantry/test-stream/1"
	gone := make(chan struct{}, 1)
	HandleStream(a, p, func(ctx context.Context, _ solana.PublicKey, r echoReq, send func(string) error) error {
		if r.Text == "forever" {
			defer func() { gone <- struct{}{} }()
			if err := send("first"); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}
		for i := range r.N {
			if err := send(fmt.Sprint(r.Text, i)); err != nil {
				return err
			}
		}
		if r.Text == "fail" {
			return Refuse(CodeUnavailable, "broken off")
		}
		return nil
	})
	require.NoError(t, b.Remember(a.Self()))
	run := func(ctx context.Context, text string, n int) (got []string, err error) {
		err = CallStream(ctx, b, a.Key(), p, echoReq{text, n}, func(s string) error {
			got = append(got, s)
			return nil
		})
		return got, err
	}
	got, err := run(ctx, "line", 100)
	require.NoError(t, err)
	require.Len(t, got, 100)
	require.Equal(t, "line99", got[99])
	got, err = run(ctx, "line", 0)
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = run(ctx, "fail", 2)
	require.True(t, IsCode(err, CodeUnavailable), err)
	require.Len(t, got, 2)

	sctx, cancel := context.WithCancel(ctx)
	err = CallStream(sctx, b, a.Key(), p, echoReq{Text: "forever"}, func(string) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	select {
	case <-gone:
	case <-time.After(3 * time.Second):
		t.Fatal("the handler did not notice that its caller left")
	}
	stop := errors.New("enough")
	err = CallStream(ctx, b, a.Key(), p, echoReq{Text: "forever"}, func(string) error { return stop })
	require.ErrorIs(t, err, stop)
	select {
	case <-gone:
	case <-time.After(3 * time.Second):
		t.Fatal("the handler did not notice that its caller left")
	}
}

type note struct {
	Text string `cbor:"1,keyasint"`
}

type inbox struct {
	mu  sync.Mutex
	got []string
}

func (i *inbox) add(_ context.Context, author solana.PublicKey, m note) {
	i.mu.Lock()
	i.got = append(i.got, author.Short(3)+":"+m.Text)
	i.mu.Unlock()
}

func (i *inbox) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.got)
}

// Three keepers in a chain or a triangle hear each other within a second of connecting.
func TestGossipAmongThree(t *testing.T) {
	ctx := testCtx(t)
	var nodes [3]*Node
	var boxes [3]inbox
	var topics [3]*Topic[note]
	for i := range nodes {
		nodes[i] = newNode(t)
		var err error
		topics[i], err = Join(nodes[i], TopicConfig[note]{Name: "gantry/test/notes/1", Handle: boxes[i].add})
		require.NoError(t, err)
	}
	all := []Peer{nodes[0].Self(), nodes[1].Self(), nodes[2].Self()}
	for _, n := range nodes {
		require.NoError(t, n.Keep(all))
	}
	start := time.Now()
	require.Eventually(t, func() bool {
		return topics[0].Peers() == 2 && topics[1].Peers() == 2 && topics[2].Peers() == 2
	}, time.Minute, 5*time.Millisecond)
	t.Logf("all see each other after %s", time.Since(start))
	start = time.Now()
	const each = 20
	for i := range each {
		for n := range topics {
			require.NoError(t, topics[n].Publish(ctx, note{fmt.Sprint(n, "-", i)}))
		}
	}
	require.Eventually(t, func() bool {
		return boxes[0].len() == 2*each && boxes[1].len() == 2*each && boxes[2].len() == 2*each
	}, time.Minute, 2*time.Millisecond)
	t.Logf("%d messages everywhere after %s", 3*each, time.Since(start))
}

func TestGossipValidation(t *testing.T) {
	ctx := testCtx(t)
	a, b, stranger := newNode(t), newNode(t), newNode(t)
	var open atomic.Bool
	known := func(k solana.PublicKey) bool { return k == a.Key() || k == b.Key() || open.Load() }
	var boxA inbox
	cfg := TopicConfig[note]{
		Name: "gantry/test/valid/1", MaxSize: 200, Known: known, Handle: boxA.add,
		Validate: func(_ context.Context, author solana.PublicKey, m note) Verdict {
			if m.Text == "bad" {
				return Reject
			}
			return Accept
		},
	}
	ta, err := Join(a, cfg)
	require.NoError(t, err)
	cfg.Handle, cfg.Known, cfg.Validate = nil, nil, nil
	tb, err := Join(b, cfg)
	require.NoError(t, err)
	ts, err := Join(stranger, cfg)
	require.NoError(t, err)
	require.NoError(t, b.Connect(ctx, a.Self()))
	require.NoError(t, stranger.Connect(ctx, a.Self()))
	require.Eventually(t, func() bool { return ta.Peers() == 2 && tb.Peers() > 0 && ts.Peers() > 0 }, time.Minute, 5*time.Millisecond)

	require.ErrorIs(t, tb.Publish(ctx, note{string(make([]byte, 300))}), ErrTooBig)
	require.NoError(t, ts.Publish(ctx, note{"from nobody"}))
	require.NoError(t, tb.Publish(ctx, note{"bad"}))
	require.NoError(t, tb.Publish(ctx, note{"good"}))
	require.Eventually(t, func() bool { return boxA.len() == 1 }, time.Minute, 5*time.Millisecond)
	require.Contains(t, boxA.got[0], "good")
	open.Store(true) // the stranger registers
	require.NoError(t, ts.Publish(ctx, note{"now known"}))
	require.Eventually(t, func() bool { return boxA.len() == 2 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ta.Close())
}

func TestKeepReconnects(t *testing.T) {
	key := newKey(t)
	a := newNode(t)
	start := func(listen string) *Node {
		n, err := New(Options{Key: key, Listen: []string{listen}, Log: zerolog.Nop()})
		require.NoError(t, err)
		return n
	}
	b := start(LoopbackListen)
	at := b.Self()
	require.NoError(t, a.Keep([]Peer{at, a.Self()}))
	require.Eventually(t, func() bool { return a.Connected(b.Key()) }, time.Minute, 5*time.Millisecond)

	require.NoError(t, a.Disconnect(b.Key()))
	require.Eventually(t, func() bool { return a.Connected(b.Key()) }, time.Minute, 5*time.Millisecond)

	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return !a.Connected(key.PublicKey()) }, time.Minute, 5*time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	info, err := at.info()
	require.NoError(t, err)
	b = start(info.Addrs[0].String())
	defer b.Close()
	began := time.Now()
	require.Eventually(t, func() bool { return a.Connected(b.Key()) }, time.Minute, 5*time.Millisecond)
	t.Logf("reconnected %s after the restart", time.Since(began))

	require.NoError(t, a.Keep(nil))
	require.NoError(t, a.Disconnect(b.Key()))
	require.Never(t, func() bool { return a.Connected(b.Key()) }, 600*time.Millisecond, 20*time.Millisecond)
}

func TestLookup(t *testing.T) {
	ctx := testCtx(t)
	keeper, agent, customer := newNode(t), newNode(t), newNode(t)
	keeper.ServeLookup(false)
	Handle(agent, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	require.NoError(t, agent.Keep([]Peer{keeper.Self()}))
	require.NoError(t, customer.Connect(ctx, keeper.Self()))
	_, err := customer.Lookup(ctx, keeper.Key(), newKey(t).PublicKey())
	require.True(t, IsCode(err, CodeNotFound), err)
	require.ErrorIs(t, customer.Connect(ctx, Peer{Key: agent.Key()}), ErrUnknown)
	require.Eventually(t, func() bool {
		return customer.Find(ctx, agent.Key(), []solana.PublicKey{keeper.Key()}) == nil
	}, time.Minute, 20*time.Millisecond)
	resp, err := Call[echoReq, echoResp](ctx, customer, agent.Key(), echo, echoReq{Text: "found"})
	require.NoError(t, err)
	require.Equal(t, "found", resp.Text)
	require.Error(t, customer.Find(ctx, newKey(t).PublicKey(), []solana.PublicKey{keeper.Key()}))
}

func TestLimiterForgets(t *testing.T) {
	l := newLimiter(1000, 1)
	for i := range 3 * maxLimited {
		id, err := PeerID(solana.PublicKeyFromBytes(fmt.Appendf(nil, "%032d", i)))
		require.NoError(t, err)
		require.True(t, l.allow(id))
	}
	require.LessOrEqual(t, len(l.peers), maxLimited)
}

// An agent that nobody can dial is reached through a keeper.
func TestRelay(t *testing.T) {
	ctx := testCtx(t)
	keeper := newNode(t, func(c *Options) { c.RelayService, c.Public = true, true })
	keeper.ServeLookup(true)
	agent := newNode(t, func(c *Options) {
		c.Listen, c.Client, c.Private, c.HolePunching, c.UseRelays = nil, true, true, true, true
	})
	Handle(agent, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	require.NoError(t, agent.Keep([]Peer{keeper.Self()}))
	customer := newNode(t)
	require.NoError(t, customer.Connect(ctx, keeper.Self()))
	require.Eventually(t, func() bool {
		return customer.Find(ctx, agent.Key(), []solana.PublicKey{keeper.Key()}) == nil
	}, time.Minute, 100*time.Millisecond)
	resp, err := Call[echoReq, echoResp](ctx, customer, agent.Key(), echo, echoReq{Text: "through the keeper"})
	require.NoError(t, err)
	require.Equal(t, customer.Key(), resp.From)
}

func TestSpeakersAreConnectedPeersThatAnswerAProtocol(t *testing.T) {
	ctx := testCtx(t)
	keeper, speaker, mute := newNode(t), newNode(t), newNode(t)
	Handle(speaker, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	for _, n := range []*Node{speaker, mute} {
		require.NoError(t, n.Connect(ctx, keeper.Self()))
	}
	var found []Peer
	require.Eventually(t, func() bool { found = keeper.Speakers(echo.ID); return len(found) == 1 && len(found[0].Addrs) > 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, speaker.Key(), found[0].Key)
	heard := mute.Heard(found[0].Key, append(found[0].Addrs, "/ip4/127.0.0.1/tcp/1/ws", "no address"))
	require.Equal(t, found[0].Addrs, heard.Addrs)
	require.NoError(t, mute.Connect(ctx, heard))
	require.NoError(t, speaker.Disconnect(keeper.Key()))
	require.Eventually(t, func() bool { return len(keeper.Speakers(echo.ID)) == 0 }, time.Minute, 10*time.Millisecond)
}
