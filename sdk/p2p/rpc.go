package p2p

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/wait"
)

// Protocol describes a request protocol. The same value serves both sides.
type Protocol struct {
	ID          string        // without the version, e.g. "/gantry/lookup"
	Since       uint          // the minor version that brought the protocol; peers of an earlier one are not asked
	MaxRequest  int           // bytes, default 64 KiB
	MaxResponse int           // bytes of the response or of one item, default 1 MiB
	Timeout     time.Duration // for a whole call, or for one item of a stream, default 10 s
	Rate        float64       // requests a second that one peer may make, default 5
	Burst       int           // at once, default 20
	Concurrent  int           // requests served at the same time, default 256
	Public      bool          // strangers are answered too, on the few connections that they get
	PerPeer     int           // of them for one peer, default a sixteenth of Concurrent, at least 8
	// May says who of those that the node knows is answered; nil answers all of them. It is asked before a request takes
	// a place and before anything of it is read. It must be quick.
	May func(solana.PublicKey) bool
	// Grace is for how long the request of a peer that is not answered waits, unread: what makes it known may be on its
	// way here. The few streams that such a peer may hold bound what waits.
	Grace time.Duration
	// First says for whom half of the places are kept: others never take them. nil keeps none.
	First func(solana.PublicKey) bool
}

func (p Protocol) withDefaults() Protocol {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&p.MaxRequest, 64<<10)
	def(&p.MaxResponse, 1<<20)
	def(&p.Burst, 20)
	def(&p.Concurrent, 256)
	def(&p.PerPeer, max(8, p.Concurrent/16))
	if p.Timeout <= 0 {
		p.Timeout = 10 * time.Second
	}
	if p.Rate <= 0 {
		p.Rate = 5
	}
	return p
}

// maxMessage bounds the text of a refusal in bytes.
const maxMessage = 300

const (
	// requestTimeout is how long the beginning of a request may take to arrive, and a refusal to leave. The request is
	// sent with the stream's first bytes, so that no round trip is part of it.
	requestTimeout = time.Second
	// requestPace is the slowest line, in bytes a second, on which a large request arrives in time.
	requestPace = 64 << 10
)

// frameOverhead is what an envelope adds to a body.
const frameOverhead = 64 + maxMessage

// Handle answers requests. from is the authenticated key of the caller. To refuse, return an *Error; any other error is
// logged here and reaches the caller as an internal error without its text.
func Handle[Req, Resp any](n *Node, p Protocol, h func(ctx context.Context, from solana.PublicKey, req Req) (Resp, error)) {
	serve(n, p, func(ctx context.Context, from solana.PublicKey, req Req, send func(Code, any) error) error {
		resp, err := h(ctx, from, req)
		if err != nil {
			return err
		}
		return send(CodeOK, resp)
	}, false)
}

// HandleStream answers a request with any number of items. It ends when h returns; ctx ends when the caller goes away.
func HandleStream[Req, Item any](n *Node, p Protocol, h func(ctx context.Context, from solana.PublicKey, req Req, send func(Item) error) error) {
	serve(n, p, func(ctx context.Context, from solana.PublicKey, req Req, send func(Code, any) error) error {
		if err := h(ctx, from, req, func(i Item) error { return send(CodeOK, i) }); err != nil {
			return err
		}
		return send(codeEnd, nil)
	}, true)
}

func serve[Req any](n *Node, p Protocol, h handler[Req], stream bool) {
	srv := newServer[Req](n, p)
	srv.handle, srv.stream = h, stream
	srv.register(srv.serve)
}

// newServer makes a server that answers nothing yet.
func newServer[Req any](n *Node, p Protocol) *server[Req] {
	p = p.withDefaults()
	return &server[Req]{n: n, p: p, limit: newLimiter(p.Rate, p.Burst), room: newSlots(p)}
}

// register has the node call serve with every stream of the protocol whose request may be answered.
func (v *server[Req]) register(serve func(context.Context, request[Req])) {
	offers := v.p.offers(v.n.version)
	if len(offers) == 0 {
		panic(fmt.Sprintf("%s came with minor version %d, and messages are %s: nobody could use it", v.p.ID, v.p.Since, v.n.version)) // a mistake in a program
	}
	offered := func(id protocol.ID) bool { return slices.Contains(offers, id) }
	// Only the newest is announced, so that what peers keep of each other does not grow with every version.
	v.n.host.SetStreamHandlerMatch(WireID(v.p.ID, v.n.version), offered, func(s network.Stream) {
		if !v.n.spawn(func() { v.receive(s, serve) }) {
			_ = s.Reset()
		}
	})
}

// handler answers a request by sending any number of items.
type handler[Req any] func(ctx context.Context, from solana.PublicKey, req Req, send func(Code, any) error) error

// server answers the requests of one protocol.
type server[Req any] struct {
	n      *Node
	p      Protocol
	handle handler[Req]
	stream bool // the answer is a stream of items
	limit  *limiter
	room   *slots
}

// refusal says why a request is not answered, to the peer and, with a reason, to the node's counts.
type refusal struct {
	reason Reason
	err    *Error
}

// request is one that may be answered, on the stream on which it came.
type request[Req any] struct {
	stream network.Stream
	log    zerolog.Logger
	from   solana.PublicKey
	body   Req
	cancel context.CancelFunc // ends the context and resets the stream
	keep   func() bool        // lets the stream outlive the context
}

// receive reads the request of a stream and passes it on, or refuses it. The context ends when serve returns, and with
// the node.
func (v *server[Req]) receive(s network.Stream, serve func(context.Context, request[Req])) {
	log := v.n.log.With().Str("protocol", v.p.ID).Str("peer", s.Conn().RemotePeer().String()).Logger()
	ctx, cancel := context.WithCancel(v.n.ctx)
	defer cancel()
	// Whatever happens, the stream does not outlive the node.
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	v.awaitKnown(ctx, s.Conn().RemotePeer())
	_ = s.SetDeadline(time.Now().Add(requestTimeout))
	from, free, no := v.admit(s.Conn())
	if no != nil {
		v.refuse(s, log, no)
		return
	}
	defer free()
	body, no := v.read(s)
	if no != nil {
		v.refuse(s, log, no)
		return
	}
	serve(ctx, request[Req]{stream: s, log: log, from: from, body: body, cancel: cancel, keep: stop})
}

// serve answers a request with one item, or with many.
func (v *server[Req]) serve(ctx context.Context, r request[Req]) {
	s := r.stream
	if v.stream {
		_ = s.SetDeadline(time.Time{}) // each item has its own
		v.n.spawn(func() { watchCaller(s, r.cancel) })
	} else {
		_ = s.SetDeadline(time.Now().Add(v.p.Timeout))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, v.p.Timeout)
		defer cancel()
	}
	if err := v.answer(ctx, r.from, r.body, v.sender(ctx, s)); err != nil {
		v.failed(r, err)
		return
	}
	r.keep()
	_ = s.CloseRead()
	if err := s.Close(); err != nil {
		r.log.Debug().Err(err).Msg("stream does not close")
	}
}

// answer calls the handler, after [Options.Before]. One that panics has failed for this request only: a peer must not end the process with a
// question that somebody forgot.
func (v *server[Req]) answer(ctx context.Context, from solana.PublicKey, req Req, send func(Code, any) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = v.n.panicked(v.p.ID, from, p)
		}
	}()
	if err := v.n.before(ctx); err != nil {
		return err
	}
	return v.handle(ctx, from, req, send)
}

// gracePoll is how often a peer that waits is looked up again.
const gracePoll = 100 * time.Millisecond

// awaitKnown waits until the peer is one that is answered, or the grace is over.
func (v *server[Req]) awaitKnown(ctx context.Context, remote peer.ID) {
	from, err := v.n.name(remote)
	if v.p.Grace <= 0 || v.p.Public || err != nil {
		return
	}
	until := time.Now().Add(v.p.Grace)
	for (!v.n.gate.knows(remote) || v.p.May != nil && !v.p.May(from)) && time.Now().Before(until) {
		if wait.For(ctx, gracePoll) != nil {
			return
		}
	}
}

// admit decides whether the peer may make a request now. free gives its place back.
func (v *server[Req]) admit(c network.Conn) (from solana.PublicKey, free func(), no *refusal) {
	remote := c.RemotePeer()
	from, err := v.n.name(remote)
	if err != nil {
		return from, nil, &refusal{ReasonStranger, Refuse(CodeRefused, "identity is not an ed25519 key")}
	}
	if !v.p.Public && !v.n.gate.knows(remote) {
		return from, nil, &refusal{ReasonStranger, Refuse(CodeRefused, "the key %s is not registered in this market", from)}
	}
	if v.p.May != nil && !v.p.May(from) {
		return from, nil, &refusal{ReasonRole, Refuse(CodeRefused, "this is not for the key %s: what it is in the market does not allow it", from)}
	}
	if !v.limit.allow(remote) {
		return from, nil, &refusal{ReasonRate, Refuse(CodeRateLimited, "at most %g requests a second", v.p.Rate)}
	}
	if wait := v.n.budget.take(remote, c.RemoteMultiaddr(), 0); wait > 0 {
		return from, nil, v.n.budget.spent(remote, wait)
	}
	free, ok := v.room.take(remote, v.p.First != nil && v.p.First(from))
	if !ok {
		return from, nil, &refusal{ReasonBusy, Refuse(CodeRateLimited, "at most %d requests at once, %d from one peer", v.p.Concurrent, v.p.PerPeer)}
	}
	return from, free, nil
}

// read takes the request from a stream.
func (v *server[Req]) read(s network.Stream) (req Req, no *refusal) {
	raw, err := readFramePaced(s, v.p.MaxRequest+frameOverhead, func(size int) {
		_ = s.SetReadDeadline(time.Now().Add(requestTimeout + time.Duration(size)*time.Second/requestPace))
	})
	switch {
	case errors.Is(err, ErrTooBig):
		return req, &refusal{ReasonSize, Refuse(CodeBadRequest, "%v", err)}
	case isTimeout(err):
		return req, &refusal{ReasonSlow, Refuse(CodeBadRequest, "the request did not arrive in time")}
	case err != nil:
		return req, &refusal{ReasonEncoding, Refuse(CodeBadRequest, "%v", err)}
	}
	e, err := unpack(raw)
	switch {
	case err != nil:
		return req, &refusal{ReasonEncoding, Refuse(CodeBadRequest, "envelope: %v", err)}
	case e.Version != v.n.version.Major:
		return req, &refusal{ReasonVersion, Refuse(CodeVersion, "%d; this peer speaks %d", e.Version, v.n.version.Major)}
	case e.Code != CodeOK:
		return req, &refusal{ReasonEncoding, Refuse(CodeBadRequest, "a request has no code")}
	}
	if err := decodeMessage(e.Body, &req); errors.Is(err, ErrTooBig) {
		return req, &refusal{ReasonSize, Refuse(CodeBadRequest, "%v", err)}
	} else if err != nil {
		return req, &refusal{ReasonEncoding, Refuse(CodeBadRequest, "%v", err)}
	}
	return req, nil
}

// sender returns the function by which a handler sends items. It is safe for concurrent use. Items wait until the peer may
// take them; a single answer does not.
func (v *server[Req]) sender(ctx context.Context, s network.Stream) func(Code, any) error {
	var mu sync.Mutex
	id, at := s.Conn().RemotePeer(), s.Conn().RemoteMultiaddr()
	return func(code Code, body any) error {
		mu.Lock()
		defer mu.Unlock()
		msg, err := pack(v.n.version.Major, code, "", body)
		if err != nil {
			return err
		}
		if v.stream {
			if err := v.n.budget.await(ctx, id, at, len(msg)); err != nil {
				return err
			}
		} else if wait := v.n.budget.take(id, at, len(msg)); wait > 0 {
			no := v.n.budget.spent(id, wait)
			v.n.counts.add(no.reason)
			return no.err
		}
		_ = s.SetWriteDeadline(time.Now().Add(v.p.Timeout))
		return writeFrame(s, msg, v.p.MaxResponse+frameOverhead)
	}
}

// failed tells the peer what a handler's error says to it.
func (v *server[Req]) failed(r request[Req], err error) {
	var refused *Error
	if !errors.As(err, &refused) {
		r.log.Debug().Err(err).Msg("handler failed")
		refused = Refuse(CodeInternal, "")
	}
	r.keep() // the end of reading, below, is not the caller's leaving
	v.refuse(r.stream, r.log, &refusal{"", refused})
}

// refuse answers with a refusal and closes the stream.
func (v *server[Req]) refuse(s network.Stream, log zerolog.Logger, no *refusal) {
	if no.reason != "" {
		v.n.counts.add(no.reason)
	}
	// Messages may repeat bytes of others, and a cut may fall within a character; the peer decodes nothing but text.
	text := strings.ToValidUTF8(no.err.Message[:min(len(no.err.Message), maxMessage)], "")
	msg, err := pack(v.n.version.Major, no.err.Code, text, nil)
	if err == nil {
		_ = s.SetWriteDeadline(time.Now().Add(requestTimeout))
		err = writeFrame(s, msg, v.p.MaxResponse+frameOverhead)
	}
	if err != nil {
		log.Debug().Err(err).Msg("refusal cannot be delivered")
	}
	_ = s.CloseRead()
	_ = s.Close()
}

// isTimeout reports whether a stream's deadline has passed; muxers have errors of their own for that.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// watchCaller cancels a stream's handler once the caller has gone. The caller keeps its side open and sends nothing
// after its request, so that any end of reading means that it left.
func watchCaller(s network.Stream, cancel context.CancelFunc) {
	var b [1]byte
	for {
		if _, err := s.Read(b[:]); err != nil {
			cancel()
			return
		}
	}
}
