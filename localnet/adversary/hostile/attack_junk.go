package hostile

import (
	"context"
	"math/rand/v2"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
)

// junkBytes sends random bytes where a handshake, a frame or a message is expected.
func junkBytes(ctx context.Context, a *attacker, to target, t *tally) {
	all := to.protocols()
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		p := all[rand.IntN(len(all))]
		switch rand.IntN(3) {
		case 0:
			return junkConnection(ctx, to, t)
		case 1:
			return ask(ctx, h, to, p, junk(64+rand.IntN(4<<10)), t)
		default:
			return ask(ctx, h, to, p, frame(junk(rand.IntN(2<<10))), t)
		}
	})
}

func junkConnection(ctx context.Context, to target, t *tally) error {
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "tcp", to.tcp)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	n, err := c.Write(junk(4 << 10))
	t.bytes.Add(uint64(n))
	if err != nil {
		return err
	}
	for err == nil { // until the target closes
		_, err = c.Read(make([]byte, 4<<10))
	}
	return err
}
