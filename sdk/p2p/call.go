package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/multiformats/go-multistream"
)

// Call makes a request. Errors: *Error for a refusal, ErrUnknown, ErrTooBig, ErrEncoding, the context's.
func Call[Req, Resp any](ctx context.Context, n *Node, to solana.PublicKey, p Protocol, req Req) (Resp, error) {
	var resp Resp
	p = p.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	s, done, err := open(ctx, n, to, p, req, false)
	if err != nil {
		return resp, err
	}
	defer done()
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	e, err := receive(ctx, n, s, to, p)
	if err != nil {
		n.dropRelay(ctx, to)
		return resp, err
	}
	if e.Code != CodeOK {
		return resp, fmt.Errorf("%s of peer %s: %w", p.ID, to, ErrTruncated)
	}
	if err := decodeMessage(e.Body, &resp); err != nil {
		var none Resp
		return none, fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
	}
	return resp, nil
}

// CallStream makes a request and hands every item to recv until the peer ends the stream, recv returns an error, or ctx
// ends.
func CallStream[Req, Item any](ctx context.Context, n *Node, to solana.PublicKey, p Protocol, req Req, recv func(Item) error) error {
	p = p.withDefaults()
	octx, cancel := context.WithTimeout(ctx, min(p.Timeout, openTimeout))
	defer cancel()
	s, done, err := open(octx, n, to, p, req, true)
	if err != nil {
		return err
	}
	defer done()
	ctx, left := context.WithCancel(ctx)
	defer left()
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	if isCircuit(s.Conn().RemoteMultiaddr()) {
		n.spawn(func() { n.watchRelay(ctx, s.Conn()) })
	}
	_ = s.SetReadDeadline(time.Time{}) // the next item may be long in coming
	for {
		e, err := receive(ctx, n, s, to, p)
		if err != nil {
			return err
		}
		if e.Code == codeEnd {
			return nil
		}
		var item Item
		if err := decodeMessage(e.Body, &item); err != nil {
			_ = s.Reset()
			return fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
		}
		if err := recv(item); err != nil {
			_ = s.Reset()
			return err
		}
	}
}

// openTimeout is how long the opening of a stream of items may take.
const openTimeout = 10 * time.Second

// dropRelay closes a relayed connection on which an answer did not come in time: the relay may be gone, which libp2p
// notices only half a minute later. The next call finds another path.
func (n *Node) dropRelay(ctx context.Context, to solana.PublicKey) {
	id, err := n.id(to)
	if err != nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) || n.Path(to) != Relayed {
		return
	}
	for _, c := range n.host.Network().ConnsToPeer(id) {
		n.closeRelayed(c)
	}
}

// closeRelayed ends a relayed connection, and the one to its relay, through which the next attempt would go as well.
func (n *Node) closeRelayed(c network.Conn) {
	n.log.Debug().Str("peer", c.RemotePeer().String()).Msg("peer does not answer through the relay; the connection is closed")
	_ = c.Close() // it is dead
	if id, ok := relayOf(c.RemoteMultiaddr()); ok {
		n.gate.skipRelay(id)
		_ = n.host.Network().ClosePeer(id)
	}
}

// watchEvery is how often a relayed connection is tried while items are awaited.
const watchEvery = 5 * time.Second

// watchRelay closes a relayed connection that does not answer pings, so that the caller who waits for items can use
// another path.
func (n *Node) watchRelay(ctx context.Context, c network.Conn) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tctx, cancel := context.WithTimeout(network.WithAllowLimitedConn(ctx, "watch relay"), watchEvery)
		res, ok := <-ping.Ping(tctx, n.host, c.RemotePeer())
		cancel()
		if (!ok || res.Error != nil) && ctx.Err() == nil { // not ok: time is over
			n.closeRelayed(c)
			return
		}
	}
}

// open dials if needed, opens a stream and sends the request. stay keeps our side of the stream open, so that the peer
// notices when we close it.
func open(ctx context.Context, n *Node, to solana.PublicKey, p Protocol, req any, stay bool) (network.Stream, func(), error) {
	id, err := n.id(to)
	if err != nil {
		return nil, nil, err
	}
	msg, err := pack(n.version.Major, CodeOK, "", req)
	if err != nil {
		return nil, nil, err
	}
	if n.host.Network().Connectedness(id) == network.NotConnected && len(n.host.Peerstore().Addrs(id)) == 0 {
		return nil, nil, fmt.Errorf("peer %s: %w", to, ErrUnknown)
	}
	s, err := n.host.NewStream(network.WithAllowLimitedConn(ctx, p.ID), id, p.offers(n.version)...)
	if err != nil {
		n.dropRelay(ctx, to)
		return nil, nil, n.callErr(ctx, p, to, err)
	}
	if d, ok := ctx.Deadline(); ok {
		_ = s.SetDeadline(d)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	if err := writeFrame(s, msg, p.MaxRequest+frameOverhead); err != nil {
		stop()
		_ = s.Reset()
		return nil, nil, n.callErr(ctx, p, to, err)
	}
	stop()
	if !stay {
		_ = s.CloseWrite()
	}
	return s, func() { _ = s.Close() }, nil
}

func receive(ctx context.Context, n *Node, s network.Stream, to solana.PublicKey, p Protocol) (envelope, error) {
	raw, err := readFrame(s, p.MaxResponse+frameOverhead)
	if err != nil {
		_ = s.Reset()
		return envelope{}, n.callErr(ctx, p, to, err)
	}
	e, err := unpack(raw)
	switch {
	case err != nil:
		return e, fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
	case e.Code != CodeOK && e.Code != codeEnd:
		return e, fmt.Errorf("%s of peer %s: %w", p.ID, to, &Error{e.Code, e.Message})
	case e.Version != n.version.Major:
		return e, fmt.Errorf("%s of peer %s: %w", p.ID, to, Refuse(CodeVersion, "answer in version %d", e.Version))
	}
	return e, nil
}

func (n *Node) callErr(ctx context.Context, p Protocol, to solana.PublicKey, err error) error {
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case timedOut(ctx, err): // the stream has the deadline of ctx, and may be told of it first
		err = context.DeadlineExceeded
	case notServed(err):
		err = n.unsupported(p, to)
	default:
		if id, ierr := n.id(to); ierr == nil {
			err = cmp.Or(n.turnedAwayBy(id), err)
		}
	}
	return fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
}

// notServed reports whether the peer does not serve the protocol. Where libp2p believes that it does, it sends the request before
// the peer has agreed; the peer's refusal may be read, or come with the end of the stream.
func notServed(err error) bool {
	var unsupported multistream.ErrNotSupported[protocol.ID]
	var ended *network.StreamError
	return errors.As(err, &unsupported) ||
		errors.As(err, &ended) && ended.Remote && ended.ErrorCode == network.StreamProtocolNegotiationFailed
}

// timedOut reports whether err is the deadline of ctx. A connection that ends for its own silence before that is lost.
func timedOut(ctx context.Context, err error) bool {
	var timeout net.Error
	d, ok := ctx.Deadline()
	return ok && errors.As(err, &timeout) && timeout.Timeout() && !time.Now().Before(d)
}
