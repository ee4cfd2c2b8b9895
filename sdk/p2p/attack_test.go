package p2p

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
)

// members makes a node that knows the given keys only, as a keeper does.
func member(t *testing.T, known *sync.Map, mod ...func(*Options)) *Node {
	n := newNode(t, append(mod, func(c *Options) {
		c.Known = func(k solana.PublicKey) bool { _, ok := known.Load(k); return ok }
	})...)
	known.Store(n.Key(), true)
	return n
}

func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// A stranger gets a clear answer, no relaying and no ear for its gossip; once it is registered it is heard.
func TestStrangerIsRefused(t *testing.T) {
	ctx := testCtx(t)
	var known sync.Map
	k := member(t, &known)
	k.ServeLookup(true)
	Handle(k, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	stranger := newNode(t)
	require.NoError(t, stranger.Connect(ctx, k.Self()))
	_, err := Call[echoReq, echoResp](ctx, stranger, k.Key(), echo, echoReq{Text: "x"})
	require.True(t, IsCode(err, CodeRefused), err)
	require.ErrorContains(t, err, "is not registered in this market")
	_, err = stranger.Lookup(ctx, k.Key(), newKey(t).PublicKey())
	require.True(t, IsCode(err, CodeRefused), err)
	waiting, _ := k.Strangers()
	require.Equal(t, 1, waiting)
	require.EqualValues(t, 2, k.Refusals()[ReasonStranger])
	acl := relayACL{k.gate}
	require.False(t, acl.AllowReserve(stranger.ID(), nil))
	require.False(t, acl.AllowConnect(stranger.ID(), nil, k.ID()))
	require.False(t, acl.AllowConnect(k.ID(), nil, stranger.ID()))
	require.EqualValues(t, strangerScore, func() float64 {
		k.mu.Lock()
		k.known = append(k.known, k.gate.known)
		k.mu.Unlock()
		return k.standing(stranger.ID())
	}())

	known.Store(stranger.Key(), true)
	_, err = Call[echoReq, echoResp](ctx, stranger, k.Key(), echo, echoReq{Text: "x"})
	require.NoError(t, err)
	require.Zero(t, k.standing(stranger.ID()))
	require.Eventually(t, func() bool { waiting, _ := k.Strangers(); return waiting == 0 }, time.Minute, 50*time.Millisecond)
}

// Keys cost nothing, so strangers get few places in all, and fewer from one address. Who is registered gets in all the
// same.
func TestSybils(t *testing.T) {
	ctx := testCtx(t)
	var known sync.Map
	k := member(t, &known)
	for range maxStrangersPerGroup + 6 {
		s := newNode(t, func(c *Options) { c.Listen, c.Client = nil, true })
		_ = s.Connect(ctx, k.Self()) // some are refused
	}
	require.Eventually(t, func() bool {
		waiting, refused := k.Strangers()
		return waiting <= maxStrangersPerGroup && refused >= 6
	}, time.Minute, 20*time.Millisecond)
	friend := newNode(t)
	known.Store(friend.Key(), true)
	require.NoError(t, friend.Connect(ctx, k.Self()))
	// In all, with addresses from everywhere: the gate itself, without so many machines.
	g := newGate(func(solana.PublicKey) bool { return false })
	at := time.Unix(1, 0)
	g.now = func() time.Time { return at }
	for i := range 2 * maxStrangers {
		id, err := PeerID(solana.PublicKeyFromBytes(fmt.Appendf(nil, "%032d", i)))
		require.NoError(t, err)
		ok := g.admits(network.DirInbound, id, remoteAt(t, fmt.Sprintf("/ip4/%d.%d.1.1/tcp/1", 11+i%16, i/16)))
		require.Equal(t, i < maxStrangers, ok)
	}
	_, gone := g.overdue()
	require.Empty(t, gone)
	at = at.Add(StrangerGrace + time.Second)
	_, gone = g.overdue()
	require.Len(t, gone, maxStrangers)
}

// rawStream opens a stream and writes bytes that no client of ours would.
func rawStream(t *testing.T, ctx context.Context, from, to *Node, p Protocol, raw []byte) network.Stream {
	s, err := from.host.NewStream(ctx, to.ID(), WireID(p.ID, from.version))
	require.NoError(t, err)
	_, err = s.Write(raw)
	require.NoError(t, err)
	return s
}

// frame puts the length before a message.
func frame(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func answerOf(t *testing.T, s network.Stream) envelope {
	_ = s.SetReadDeadline(time.Now().Add(time.Minute))
	raw, err := readFrame(s, 1<<20)
	require.NoError(t, err)
	e, err := unpack(raw)
	require.NoError(t, err)
	return e
}

// What is no request is answered with what is wrong with it.
func TestBadRequestsAreAnswered(t *testing.T) {
	ctx := testCtx(t)
	a, b := newNode(t), newNode(t)
	Handle(a, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	require.NoError(t, b.Connect(ctx, a.Self()))
	newer, err := pack(7, CodeOK, "", echoReq{Text: "x"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		raw    []byte
		code   Code
		text   string
		reason Reason
	}{
		"junk":          {frame([]byte("\xff\x00junk")), CodeBadRequest, "canonical CBOR", ReasonEncoding},
		"empty":         {frame(nil), CodeBadRequest, "canonical CBOR", ReasonEncoding},
		"oversize":      {binary.LittleEndian.AppendUint32(nil, 1<<31), CodeBadRequest, "at most", ReasonSize},
		"newer version": {frame(newer), CodeVersion, fmt.Sprintf("7; this peer speaks %d", messages.Version), ReasonVersion},
	} {
		before := a.Refusals()[c.reason]
		e := answerOf(t, rawStream(t, ctx, b, a, echo, c.raw))
		require.Equal(t, c.code, e.Code, name)
		require.Contains(t, e.Message, c.text, name)
		require.Equal(t, before+1, a.Refusals()[c.reason], name)
	}
	// A protocol that the peer does not speak at all, such as the next version of one.
	next := echo
	next.ID = "/gantry/test-echo-next"
	_, err = Call[echoReq, echoResp](ctx, b, a.Key(), next, echoReq{})
	require.ErrorIs(t, err, ErrProtocol)
	require.ErrorContains(t, err, "needs an update")
}

// One peer that opens streams and says nothing takes its own places, and nobody else's; its requests time out.
func TestSlowStreams(t *testing.T) {
	ctx := testCtx(t)
	a, slow, other := newNode(t), newNode(t), newNode(t)
	p := echo
	p.ID, p.Concurrent, p.PerPeer, p.Timeout = "/gantry/test-slowloris/1", 32, 4, 2*time.Second
	Handle(a, p, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	require.NoError(t, slow.Connect(ctx, a.Self()))
	require.NoError(t, other.Connect(ctx, a.Self()))
	before := heapMiB()
	for range 64 {
		s, err := slow.host.NewStream(ctx, a.ID(), WireID(p.ID, slow.version))
		if err != nil {
			break // the resource manager has had enough
		}
		_, _ = s.Write([]byte{1}) // a length that is never finished; it may be refused already
	}
	require.Eventually(t, func() bool { return a.Refusals()[ReasonBusy] > 0 }, time.Minute, 10*time.Millisecond)
	for range 5 {
		_, err := Call[echoReq, echoResp](ctx, other, a.Key(), p, echoReq{Text: "x"})
		require.NoError(t, err, "others are served")
	}
	require.Eventually(t, func() bool { return a.Refusals()[ReasonSlow] >= 4 }, time.Minute, 50*time.Millisecond)
	_, err := Call[echoReq, echoResp](ctx, slow, a.Key(), p, echoReq{Text: "x"})
	require.NoError(t, err, "its places are free again")
	t.Logf("heap %.1f MiB before, %.1f MiB after 64 slow streams", before, heapMiB())
}

// A flood of requests and of gossip is cut to the author's share, and memory stays bounded.
func TestFlood(t *testing.T) {
	ctx := testCtx(t)
	a, b := newNode(t), newNode(t)
	p := echo
	p.ID, p.Rate, p.Burst, p.MaxRequest, p.Timeout = "/gantry/test-flood/1", 10, 20, 64<<10, 30*time.Second
	var served atomic.Int64
	Handle(a, p, func(context.Context, solana.PublicKey, echoReq) (echoResp, error) {
		served.Add(1)
		return echoResp{}, nil
	})
	var got atomic.Int64
	cfg := TopicConfig[note]{
		Name: "gantry/test/flood/1", MaxSize: 64 << 10, Rate: 10, Burst: 20,
		Handle: func(context.Context, solana.PublicKey, note) { got.Add(1) },
	}
	ta, err := Join(a, cfg)
	require.NoError(t, err)
	cfg.Handle = nil
	tb, err := Join(b, cfg)
	require.NoError(t, err)
	require.NoError(t, b.Connect(ctx, a.Self()))
	require.Eventually(t, func() bool { return ta.Peers() == 1 && tb.Peers() == 1 }, time.Minute, 5*time.Millisecond)
	before, began := heapMiB(), time.Now()
	big := string(make([]byte, 30<<10))
	for i := range 400 {
		require.NoError(t, tb.Publish(ctx, note{fmt.Sprint(i, big)}))
		_, err := Call[echoReq, echoResp](ctx, b, a.Key(), p, echoReq{Text: big})
		require.True(t, err == nil || IsCode(err, CodeRateLimited), err)
	}
	took := time.Since(began).Seconds()
	share := int64(20 + 10*(took+2))
	require.LessOrEqual(t, served.Load(), share)
	require.LessOrEqual(t, got.Load(), share)
	require.Positive(t, got.Load())
	require.Positive(t, a.Refusals()[ReasonRate])
	after := heapMiB()
	t.Logf("in %.1f s 400 requests and 400 messages of 30 KiB: %d and %d were taken; heap %.1f MiB before, %.1f MiB after", took, served.Load(), got.Load(), before, after)
	require.Less(t, after-before, 64.0)
}

// Junk, a lie and an oversized message cost the sender its standing, until nothing of it is read; a newer version does
// not, and is said.
func TestGossipOfLiars(t *testing.T) {
	ctx := testCtx(t)
	a, b := newNode(t), newNode(t)
	var box inbox
	cfg := TopicConfig[note]{Name: "gantry/test/liars/1", MaxSize: 1 << 10, Handle: box.add}
	ta, err := Join(a, cfg)
	require.NoError(t, err)
	// The dishonest peer takes part without our codec.
	ps, err := b.pubsub()
	require.NoError(t, err)
	raw, err := ps.Join(cfg.Name)
	require.NoError(t, err)
	_, err = raw.Subscribe()
	require.NoError(t, err)
	require.NoError(t, b.Connect(ctx, a.Self()))
	require.Eventually(t, func() bool { return ta.Peers() == 1 && len(raw.ListPeers()) == 1 }, time.Minute, 5*time.Millisecond)
	newer, err := pack(messages.Version+1, CodeOK, "", note{"from the future"})
	require.NoError(t, err)
	require.NoError(t, raw.Publish(ctx, newer))
	require.Eventually(t, func() bool { return a.Refusals()[ReasonVersion] == 1 }, time.Minute, 5*time.Millisecond)
	require.Eventually(t, func() bool { _, ok := a.Scores()[b.Key()]; return ok }, time.Minute, 20*time.Millisecond)
	require.GreaterOrEqual(t, a.Scores()[b.Key()], 0.0, "%v", a.Scores())
	require.NoError(t, raw.Publish(ctx, make([]byte, 2<<10)))
	require.Eventually(t, func() bool { return a.Refusals()[ReasonSize] == 1 }, time.Minute, 5*time.Millisecond)
	for i := range 12 {
		require.NoError(t, raw.Publish(ctx, fmt.Appendf(nil, "junk %d", i)))
	}
	require.Eventually(t, func() bool { return a.Scores()[b.Key()] < -200 }, time.Minute, 20*time.Millisecond)
	good, err := pack(1, CodeOK, "", note{"sound again"})
	require.NoError(t, err)
	require.NoError(t, raw.Publish(ctx, good))
	require.Never(t, func() bool { return box.len() > 0 }, 500*time.Millisecond, 50*time.Millisecond)
	t.Logf("score %.0f, refusals %v", a.Scores()[b.Key()], a.Refusals())
}

// A number of an author is taken once, in whatever order numbers come in.
func TestReplays(t *testing.T) {
	r := newReplays()
	id, err := PeerID(newKey(t).PublicKey())
	require.NoError(t, err)
	start := uint64(time.Now().UnixNano())
	for _, c := range []struct {
		n    uint64
		want bool
	}{
		{0, true},
		{0, false},
		{5, true},
		{3, true},
		{3, false},
		{5, false},
		{1, true},
		{replayWindow, true},
		{0, false},
		{2, true},
		{2, false},
		{replayWindow * 3, true},
		{replayWindow, false},
		{replayWindow*3 - 1, true},
		{6, false},
	} {
		require.Equal(t, c.want, r.add(id, start+c.n), "%d", c.n)
	}
	for i := range 2 * maxReplayAuthors {
		other, err := PeerID(solana.PublicKeyFromBytes(fmt.Appendf(nil, "%032d", i)))
		require.NoError(t, err)
		require.True(t, r.add(other, start))
	}
	require.LessOrEqual(t, len(r.authors), maxReplayAuthors)
}

// Streams of strangers that say nothing, not even what they are for, leave room for those who are known.
func TestIdleStreamsOfStrangersLeaveRoom(t *testing.T) {
	ctx := testCtx(t)
	var known sync.Map
	k := member(t, &known)
	Handle(k, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	friend := newNode(t)
	known.Store(friend.Key(), true)
	require.NoError(t, friend.Connect(ctx, k.Self()))
	opened := 0
	for range maxStrangersPerGroup {
		s := newNode(t, func(c *Options) { c.Listen, c.Client = nil, true })
		if s.Connect(ctx, k.Self()) != nil {
			continue
		}
		for _, c := range s.host.Network().ConnsToPeer(k.ID()) {
			for range peerStreams {
				if _, err := c.NewStream(ctx); err == nil { // no protocol is ever named
					opened++
				}
			}
		}
	}
	require.Greater(t, opened, maxStrangersPerGroup*strangerStreams)
	for range 20 {
		_, err := Call[echoReq, echoResp](ctx, friend, k.Key(), echo, echoReq{Text: "x"})
		require.NoError(t, err)
		time.Sleep(20 * time.Millisecond)
	}
	transient := 0
	require.NoError(t, k.host.Network().ResourceManager().ViewTransient(func(s network.ResourceScope) error {
		transient = s.Stat().NumStreamsInbound
		return nil
	}))
	t.Logf("strangers opened %d idle streams, %d of them are held", opened, transient)
	require.LessOrEqual(t, transient, maxStrangersPerGroup*strangerStreams+8)
}

// A place that is kept is there although all others are taken, and a request that does not arrive holds none for long.
func TestPlacesAreKept(t *testing.T) {
	ctx := testCtx(t)
	a, first, other := newNode(t), newNode(t), newNode(t)
	p := echo
	p.ID, p.Concurrent, p.PerPeer, p.Rate, p.Burst = "/gantry/test-first/1", 8, 8, 100, 100
	p.First = func(k solana.PublicKey) bool { return k == first.Key() }
	p.May = func(k solana.PublicKey) bool { return k == first.Key() || k == other.Key() }
	Handle(a, p, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
		return echoResp{r.Text, from}, nil
	})
	require.NoError(t, first.Connect(ctx, a.Self()))
	require.NoError(t, other.Connect(ctx, a.Self()))
	began := time.Now()
	for range 8 {
		s, err := other.host.NewStream(ctx, a.ID(), WireID(p.ID, other.version))
		require.NoError(t, err)
		_, _ = s.Write([]byte{1})
	}
	require.Eventually(t, func() bool { return a.Refusals()[ReasonBusy] == 4 }, time.Minute, 10*time.Millisecond, "half is kept")
	_, err := Call[echoReq, echoResp](ctx, first, a.Key(), p, echoReq{Text: "x"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return a.Refusals()[ReasonSlow] == 4 }, time.Minute, 10*time.Millisecond)
	require.Less(t, time.Since(began), 3*time.Second)
	_, err = Call[echoReq, echoResp](ctx, other, a.Key(), p, echoReq{Text: "x"})
	require.NoError(t, err)
	third := newNode(t)
	require.NoError(t, third.Connect(ctx, a.Self()))
	_, err = Call[echoReq, echoResp](ctx, third, a.Key(), p, echoReq{Text: "x"})
	require.True(t, IsCode(err, CodeRefused), "%v", err)
	require.EqualValues(t, 1, a.Refusals()[ReasonRole])
}
