package hostile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// wrongVersions announces and speaks versions of messages and protocols that do not exist.
func wrongVersions(ctx context.Context, a *attacker, to target, t *tally) {
	all := to.protocols()
	versions := []uint{0, messages.Version, messages.Version + 1, 255, 1 << 31}
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		some := func() uint { return versions[rand.IntN(len(versions))] }
		h.SetStreamHandler(p2p.WireID(messages.Challenge, p2p.Version{Major: some(), Minor: some()}), func(s network.Stream) { _ = s.Reset() })
		raw := frame(envelope(some(), messages.LeaseRequest{Version: 77}))
		id := p2p.WireID(all[rand.IntN(len(all))], p2p.MessagesVersion())
		if rand.IntN(2) == 0 {
			id = p2p.WireID(all[rand.IntN(len(all))], p2p.Version{Major: some(), Minor: some()})
		}
		return askIn(ctx, h, to, id, raw, t)
	})
}
