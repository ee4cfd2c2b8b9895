package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
)

// HandleConn answers a request with a connection: the handler checks the request, calls accept once with its answer, and
// has the bytes of the stream that follow to itself. The connection ends when the handler returns, and ctx ends with the
// node. To refuse before accept, return an *Error. The allowance of bytes ([Options.Allow]) does not count those of
// connections: Protocol.May decides who has one at all, Protocol.PerPeer how many, and a peer that does not read makes
// its own connection wait.
func HandleConn[Req, Resp any](n *Node, p Protocol, h func(ctx context.Context, from solana.PublicKey, req Req, accept func(Resp) (net.Conn, error)) error) {
	srv := newServer[Req](n, p)
	srv.register(func(ctx context.Context, r request[Req]) {
		srv.serveConn(ctx, r, func(ctx context.Context, from solana.PublicKey, req Req, accept func(any) (net.Conn, error)) error {
			return h(ctx, from, req, func(answer Resp) (net.Conn, error) { return accept(answer) })
		})
	})
}

// connHandler answers a request; accept sends the answer.
type connHandler[Req any] func(ctx context.Context, from solana.PublicKey, req Req, accept func(any) (net.Conn, error)) error

func (v *server[Req]) serveConn(ctx context.Context, r request[Req], h connHandler[Req]) {
	s := r.stream
	_ = s.SetDeadline(time.Now().Add(v.p.Timeout))
	accepted := false
	accept := func(answer any) (net.Conn, error) {
		msg, err := pack(v.n.version.Major, CodeOK, "", answer)
		if err != nil {
			return nil, err
		}
		if err := writeFrame(s, msg, v.p.MaxResponse+frameOverhead); err != nil {
			return nil, err
		}
		accepted = true
		return &conn{s}, s.SetDeadline(time.Time{})
	}
	err := v.guarded(h)(ctx, r.from, r.body, accept)
	if err != nil && !accepted {
		v.failed(r, err)
		return
	}
	if err != nil {
		r.log.Debug().Err(err).Msg("connection ended")
	}
	r.keep()
	_ = s.CloseRead()
	_ = s.Close()
}

// guarded is a handler after [Options.Before], with an error in place of a panic.
func (v *server[Req]) guarded(h connHandler[Req]) connHandler[Req] {
	return func(ctx context.Context, from solana.PublicKey, req Req, accept func(any) (net.Conn, error)) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = v.n.panicked(v.p.ID, from, p)
			}
		}()
		if err := v.n.before(ctx); err != nil {
			return err
		}
		return h(ctx, from, req, accept)
	}
}

// Dial makes a request that is answered with a connection, which the caller closes. ctx bounds the request alone. Errors:
// those of Call.
func Dial[Req, Resp any](ctx context.Context, n *Node, to solana.PublicKey, p Protocol, req Req) (net.Conn, Resp, error) {
	var resp Resp
	p = p.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	s, _, err := open(ctx, n, to, p, req, true)
	if err != nil {
		return nil, resp, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	e, err := receive(ctx, n, s, to, p)
	if err != nil {
		stop()
		n.dropRelay(ctx, to)
		return nil, resp, err
	}
	if e.Code != CodeOK {
		stop()
		_ = s.Reset()
		return nil, resp, fmt.Errorf("%s of peer %s: %w", p.ID, to, ErrTruncated)
	}
	if err := decodeMessage(e.Body, &resp); err != nil {
		stop()
		_ = s.Reset()
		var none Resp
		return nil, none, fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
	}
	if !stop() { // reset meanwhile
		return nil, resp, n.callErr(ctx, p, to, context.DeadlineExceeded)
	}
	if err := s.SetDeadline(time.Time{}); err != nil { // the stream has ended meanwhile
		_ = s.Reset()
		return nil, resp, n.callErr(ctx, p, to, err)
	}
	return &conn{s}, resp, nil
}

// conn is a stream as a connection.
type conn struct{ network.Stream }

// Close ends both directions: whatever the peer still sends is refused.
func (c *conn) Close() error { return errors.Join(c.CloseRead(), c.Stream.Close()) }

type addr string

func (addr) Network() string  { return "libp2p" }
func (a addr) String() string { return string(a) }

// LocalAddr and RemoteAddr name the peers.
func (c *conn) LocalAddr() net.Addr  { return addr(c.Conn().LocalPeer().String()) }
func (c *conn) RemoteAddr() net.Addr { return addr(c.Conn().RemotePeer().String()) }
