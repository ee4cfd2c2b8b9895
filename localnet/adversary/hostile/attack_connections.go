package hostile

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/internal/wait"
)

// connections opens a connection with a new key, and another, and keeps the last of them.
func connections(ctx context.Context, a *attacker, to target, t *tally) {
	const held = 32
	var open []host.Host
	defer func() {
		for _, h := range open {
			_ = h.Close()
		}
	}()
	for ctx.Err() == nil {
		if h := a.dialed(ctx, to, t); h != nil {
			t.took(nil)
			open = append(open, h)
		}
		if len(open) > held {
			_ = open[0].Close()
			open = open[1:]
		}
		_ = wait.For(ctx, 20*time.Millisecond)
	}
}
