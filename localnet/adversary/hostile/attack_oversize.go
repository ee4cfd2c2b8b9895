package hostile

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/sdk/messages"
)

// oversize announces more than anybody has memory for, and sends more than is read.
func oversize(ctx context.Context, a *attacker, to target, t *tally) {
	all := to.protocols()
	large := frame(envelope(messages.Version, junk(2<<20)))
	a.connected(ctx, to, t, 50*time.Millisecond, func(h host.Host) error {
		p := all[rand.IntN(len(all))]
		if rand.IntN(4) > 0 {
			return ask(ctx, h, to, p, append(binary.LittleEndian.AppendUint32(nil, 1<<31), junk(1<<10)...), t)
		}
		return ask(ctx, h, to, p, large, t)
	})
}
