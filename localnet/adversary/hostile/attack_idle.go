package hostile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
)

// idleStreams opens streams and says nothing on them.
func idleStreams(ctx context.Context, a *attacker, to target, t *tally) {
	a.hold(ctx, to, t, nil)
}

// hold opens streams, writes some bytes and leaves them open.
func (a *attacker) hold(ctx context.Context, to target, t *tally, raw []byte) {
	const held = 300
	var open []network.Stream
	defer func() {
		for _, s := range open {
			_ = s.Reset()
		}
	}()
	all := to.protocols()
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		s, err := stream(ctx, h, to, all[rand.IntN(len(all))])
		if err != nil {
			return err
		}
		n, err := s.Write(raw) // even of nothing: this sends what was held back of the stream's beginning
		t.bytes.Add(uint64(n))
		if open = append(open, s); len(open) > held {
			_ = open[0].Reset()
			open = open[1:]
		}
		return err
	})
}
