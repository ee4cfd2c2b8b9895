package p2p

import (
	"context"
	"fmt"
	"sync"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multistream"
)

// CallEach makes a request over connections with a peer, at most so many, and returns the answers that came. Several
// processes may have one key: each has a connection, and Call would ask any one of them.
func CallEach[Req, Resp any](ctx context.Context, n *Node, to solana.PublicKey, p Protocol, req Req, most int) ([]Resp, error) {
	p = p.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	id, err := n.id(to)
	if err != nil {
		return nil, err
	}
	msg, err := pack(n.version.Major, CodeOK, "", req)
	if err != nil {
		return nil, err
	}
	conns := n.host.Network().ConnsToPeer(id)
	var mu sync.Mutex
	var out []Resp
	var wg sync.WaitGroup
	for _, c := range conns[:min(most, len(conns))] {
		wg.Go(func() {
			var resp Resp
			if err := callOn(ctx, n, c, to, p, msg, &resp); err != nil {
				n.log.Debug().Err(err).Str("peer", to.String()).Msg("one of several connections with a peer does not answer")
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, resp)
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// callOn makes a request over one connection.
func callOn(ctx context.Context, n *Node, c network.Conn, to solana.PublicKey, p Protocol, msg []byte, resp any) error {
	s, err := c.NewStream(network.WithAllowLimitedConn(ctx, p.ID))
	if err != nil {
		return fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	fail := func(err error) error {
		_ = s.Reset()
		return fmt.Errorf("%s of peer %s: %w", p.ID, to, err)
	}
	if d, ok := ctx.Deadline(); ok {
		_ = s.SetDeadline(d)
	}
	chosen, err := multistream.SelectOneOf(p.offers(n.version), s)
	if err != nil {
		return fail(err)
	}
	if err := s.SetProtocol(protocol.ID(chosen)); err != nil {
		return fail(err)
	}
	if err := writeFrame(s, msg, p.MaxRequest+frameOverhead); err != nil {
		return fail(err)
	}
	_ = s.CloseWrite()
	e, err := receive(ctx, n, s, to, p)
	if err != nil {
		return err
	}
	defer s.Close()
	if e.Code != CodeOK {
		return fail(ErrTruncated)
	}
	return decodeMessage(e.Body, resp)
}
