package hostile

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/client/messages"
)

// wrongVersions speaks versions of messages and protocols that do not exist.
func wrongVersions(ctx context.Context, a *attacker, to target, t *tally) {
	all := to.protocols()
	versions := []uint{0, 2, 3, 255, 1 << 31}
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		p := all[rand.IntN(len(all))]
		raw := frame(envelope(versions[rand.IntN(len(versions))], messages.LeaseRequest{Version: 77}))
		if rand.IntN(2) == 0 {
			p = p[:strings.LastIndexByte(p, '/')] + "/9"
		}
		return ask(ctx, h, to, p, raw, t)
	})
}
