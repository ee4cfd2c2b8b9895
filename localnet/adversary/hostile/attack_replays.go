package hostile

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
)

// replays sends one request again and again, byte by byte. Replays of gossip are part of its flood.
func replays(ctx context.Context, a *attacker, to target, t *tally) {
	all := a.wellFormed(to)
	i := 0
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		i++
		r := all[i/50%len(all)] // fifty times each
		return ask(ctx, h, to, r.protocol, r.raw, t)
	})
}
