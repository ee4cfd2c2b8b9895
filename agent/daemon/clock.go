package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gantry-market/gantry/client/chain"
)

// marketClock is this machine's clock, corrected where it differs from the chain's by more than the resolution and age
// of a block's time explain. Bids need it: a node whose clock is ahead would show its price before an auction's close.
type marketClock struct{ offset atomic.Int64 }

// Now is the corrected time.
func (c *marketClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

const (
	clockEvery = 30 * time.Second
	// A block's time has whole seconds and is some seconds old when it is read.
	clockBehind = 3 * time.Second
	clockAhead  = time.Second
)

// correct takes the chain's time at a time of this machine's clock, and reports whether they differ.
func (c *marketClock) correct(chain, here time.Time) (off time.Duration, differs bool) {
	off = chain.Sub(here)
	if off >= -clockBehind && off <= clockAhead {
		off = 0
	}
	c.offset.Store(int64(off))
	return off, off != 0
}

// followClock follows the chain's clock until ctx ends.
func (a *Agent) followClock(ctx context.Context) error {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	logged := false
	for {
		if now, err := a.client.ClusterTime(ctx, chain.Confirmed); err == nil {
			off, differs := a.clock.correct(now, time.Now())
			if differs && !logged {
				a.log.Warn().Dur("off", off).Msg("this machine's clock differs from the chain's; bids use the chain's; set the clock with NTP")
			}
			logged = differs
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
