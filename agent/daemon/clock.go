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
	// Who says what time it is on chain could make the node show its price early: forward it is believed this far by a
	// word of one endpoint, and this far when several were asked, none of which says less.
	forwardByOne     = 2 * time.Second
	forwardBySeveral = 15 * time.Second
	// Backward it could make the node miss the time to show its price.
	backward = time.Minute
)

// bounded is the correction that the endpoints' times, earliest first, allow: by their median, within the bounds.
// believed is false when it was cut to them.
func bounded(times []time.Time, here time.Time) (off time.Duration, believed bool) {
	off = times[(len(times)-1)/2].Sub(here)
	if off >= -clockBehind && off <= clockAhead {
		return 0, true
	}
	forward := forwardByOne
	if len(times) > 1 {
		forward = forwardBySeveral
		if off > 0 { // by the earliest of all: to show a price late costs an auction at worst
			off = min(off, max(times[0].Sub(here), 0))
		}
	}
	cut := min(max(off, -backward), forward)
	return cut, cut == off
}

// correct takes the chain's time by each endpoint at a time of this machine's clock, and reports how far they differ.
// A chain on this machine has the clock of this machine.
func (c *marketClock) correct(times []time.Time, here time.Time, local bool) (off time.Duration, believed bool) {
	off, believed = bounded(times, here)
	if local && !believed {
		off, believed = times[(len(times)-1)/2].Sub(here), true
	}
	c.offset.Store(int64(off))
	return off, believed
}

// followClock follows the chain's clock until ctx ends.
func (a *Agent) followClock(ctx context.Context) error {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	logged := false
	for {
		if times, err := a.client.Clocks(ctx, chain.Confirmed); err == nil {
			off, believed := a.clock.correct(times, time.Now(), a.client.Local())
			switch {
			case !believed && !logged:
				a.log.Error().Dur("off", off).Int("endpoints", len(times)).Msg("the chain's time by its endpoints is too far from this machine's to be believed; set the clock with NTP, or add another --url")
			case off != 0 && !logged:
				a.log.Warn().Dur("off", off).Msg("this machine's clock differs from the chain's; bids use the chain's; set the clock with NTP")
			}
			logged = off != 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
