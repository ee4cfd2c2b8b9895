package hostile

import (
	"context"
	"net"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

// halfOpen holds TCP connections that say nothing, until the target closes them.
func halfOpen(ctx context.Context, _ *attacker, to target, t *tally) {
	const held = 400
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	dialer := net.Dialer{Timeout: time.Second}
	for ctx.Err() == nil {
		c, err := dialer.DialContext(ctx, "tcp", to.tcp)
		if ctx.Err() == nil {
			t.took(err)
		}
		if err == nil {
			open = append(open, c)
		}
		if len(open) > held {
			_ = open[0].Close()
			open = open[1:]
		}
		_ = wait.For(ctx, 20*time.Millisecond)
	}
}
