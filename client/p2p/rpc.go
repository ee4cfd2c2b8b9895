package p2p

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Protocol describes a request protocol. The same value serves both sides.
type Protocol struct {
	ID          string        // e.g. "/gantry/lookup/1"
	Version     uint          // of the messages; another one is refused
	MaxRequest  int           // bytes, default 64 KiB
	MaxResponse int           // bytes of the response or of one item, default 1 MiB
	Timeout     time.Duration // for a whole call, or for one item of a stream, default 10 s
	Rate        float64       // requests a second that one peer may make, default 5
	Burst       int           // at once, default 20
	Concurrent  int           // requests served at the same time, default 256
	Public      bool          // strangers are answered too, on the few connections that they get
	PerPeer     int           // of them for one peer, default a sixteenth of Concurrent, at least 8
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

// requestTimeout is how long a request may take to arrive.
const requestTimeout = 10 * time.Second

// frameOverhead is what an envelope adds to a body.
const frameOverhead = 64 + maxMessage

// Handle answers requests. from is the authenticated key of the caller. To
// refuse, return an *Error; any other error is logged here and reaches the
// caller as an internal error without its text.
func Handle[Req, Resp any](n *Node, p Protocol, h func(ctx context.Context, from solana.PublicKey, req Req) (Resp, error)) {
	serve(n, p, func(ctx context.Context, from solana.PublicKey, req Req, send func(Code, any) error) error {
		resp, err := h(ctx, from, req)
		if err != nil {
			return err
		}
		return send(CodeOK, resp)
	}, false)
}

// HandleStream answers a request with any number of items. It ends when h
// returns; ctx ends when the caller goes away.
func HandleStream[Req, Item any](n *Node, p Protocol, h func(ctx context.Context, from solana.PublicKey, req Req, send func(Item) error) error) {
	serve(n, p, func(ctx context.Context, from solana.PublicKey, req Req, send func(Code, any) error) error {
		if err := h(ctx, from, req, func(i Item) error { return send(CodeOK, i) }); err != nil {
			return err
		}
		return send(codeEnd, nil)
	}, true)
}

// Unhandle stops answering a protocol.
func (n *Node) Unhandle(p Protocol) { n.host.RemoveStreamHandler(protocol.ID(p.ID)) }

func serve[Req any](n *Node, p Protocol, h func(context.Context, solana.PublicKey, Req, func(Code, any) error) error, stream bool) {
	p = p.withDefaults()
	lim := newLimiter(p.Rate, p.Burst)
	room := newSlots(p.Concurrent, p.PerPeer)
	n.host.SetStreamHandler(protocol.ID(p.ID), func(s network.Stream) {
		started := n.spawn(func() { serveOne(n, p, lim, room, s, h, stream) })
		if !started {
			_ = s.Reset()
		}
	})
}

func serveOne[Req any](n *Node, p Protocol, lim *limiter, room *slots, s network.Stream, h func(context.Context, solana.PublicKey, Req, func(Code, any) error) error, stream bool) {
	remote := s.Conn().RemotePeer()
	log := n.log.With().Str("protocol", p.ID).Str("peer", remote.String()).Logger()
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	// Whatever happens, the stream does not outlive the node.
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	_ = s.SetDeadline(time.Now().Add(min(p.Timeout, requestTimeout)))

	var mu sync.Mutex
	send := func(code Code, body any) error {
		mu.Lock()
		defer mu.Unlock()
		msg, err := pack(p.Version, code, "", body)
		if err != nil {
			return err
		}
		_ = s.SetWriteDeadline(time.Now().Add(p.Timeout))
		return writeFrame(s, msg, p.MaxResponse+frameOverhead)
	}
	fail := func(reason Reason, e *Error) {
		if reason != "" {
			n.counts.add(reason)
		}
		if len(e.Message) > maxMessage {
			e = &Error{e.Code, e.Message[:maxMessage]}
		}
		msg, err := pack(p.Version, e.Code, e.Message, nil)
		if err == nil {
			_ = s.SetWriteDeadline(time.Now().Add(p.Timeout))
			err = writeFrame(s, msg, p.MaxResponse+frameOverhead)
		}
		if err != nil {
			log.Debug().Err(err).Msg("refusal cannot be delivered")
		}
		_ = s.CloseRead()
		_ = s.Close()
	}

	from, err := PublicKey(remote)
	if err != nil {
		fail(ReasonStranger, Refuse(CodeRefused, "identity is not an ed25519 key"))
		return
	}
	if !p.Public && !n.gate.knows(remote) {
		fail(ReasonStranger, Refuse(CodeRefused, "the key %s is not registered in this market", from))
		return
	}
	if !lim.allow(remote) {
		fail(ReasonRate, Refuse(CodeRateLimited, "at most %g requests a second", p.Rate))
		return
	}
	free, ok := room.take(remote)
	if !ok {
		fail(ReasonBusy, Refuse(CodeRateLimited, "at most %d requests at once, %d from one peer", p.Concurrent, p.PerPeer))
		return
	}
	defer free()
	raw, err := readFrame(s, p.MaxRequest+frameOverhead)
	switch {
	case errors.Is(err, ErrTooBig):
		fail(ReasonSize, Refuse(CodeBadRequest, "%v", err))
		return
	case isTimeout(err):
		fail(ReasonSlow, Refuse(CodeBadRequest, "the request did not arrive within %s", min(p.Timeout, requestTimeout)))
		return
	case err != nil:
		fail(ReasonEncoding, Refuse(CodeBadRequest, "%v", err))
		return
	}
	var req Req
	e, err := unpack(raw)
	switch {
	case err != nil:
		fail(ReasonEncoding, Refuse(CodeBadRequest, "envelope: %v", err))
		return
	case e.Version != p.Version:
		fail(ReasonVersion, Refuse(CodeVersion, "%d; this peer speaks %d", e.Version, p.Version))
		return
	case e.Code != CodeOK:
		fail(ReasonEncoding, Refuse(CodeBadRequest, "a request has no code"))
		return
	}
	if err := Decode(e.Body, &req); err != nil {
		fail(ReasonEncoding, Refuse(CodeBadRequest, "%v", err))
		return
	}
	if stream {
		_ = s.SetDeadline(time.Time{}) // each item has its own
		n.spawn(func() { watchCaller(s, cancel) })
	} else {
		_ = s.SetDeadline(time.Now().Add(p.Timeout))
		var tcancel context.CancelFunc
		ctx, tcancel = context.WithTimeout(ctx, p.Timeout)
		defer tcancel()
	}
	if err := h(ctx, from, req, send); err != nil {
		var refused *Error
		if !errors.As(err, &refused) {
			log.Debug().Err(err).Msg("handler failed")
			refused = Refuse(CodeInternal, "")
		}
		fail("", refused)
		return
	}
	stop()
	_ = s.CloseRead()
	if err := s.Close(); err != nil {
		log.Debug().Err(err).Msg("stream does not close")
	}
}

// isTimeout reports whether a stream's deadline has passed; muxers have errors of
// their own for that.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// watchCaller cancels a stream's handler once the caller has gone. The caller
// keeps its side open and sends nothing after its request, so that any end of
// reading means that it left.
func watchCaller(s network.Stream, cancel context.CancelFunc) {
	var b [1]byte
	for {
		if _, err := s.Read(b[:]); err != nil {
			cancel()
			return
		}
	}
}
