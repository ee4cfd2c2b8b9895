package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/schedule"
)

// ErrClock: this machine's clock is too far from the chain's to sign by it.
var ErrClock = errors.New("this machine's clock differs too much from the chain's")

const (
	// clockTolerance is how far our clock may be from the chain's before the keeper warns. The chain's own is in whole
	// seconds and is seen a slot or two late.
	clockTolerance = 3 * time.Second
	// clockSamples in a row must show the difference before signing stops, so that one slow answer stops nothing.
	clockSamples = 3
)

// clockLimit is the difference at which signing stops: where periods are short a few seconds put a check into another
// period, where they are an hour long half a minute does no harm.
func clockLimit(period time.Duration) time.Duration {
	return min(max(period/4, 5*time.Second), 30*time.Second)
}

// clockOptions of a clock; all but Log are required.
type clockOptions struct {
	Chain func(context.Context) (time.Time, error)
	Now   func() time.Time
	Limit time.Duration // at which signing stops
	Every time.Duration // between measurements
	Log   zerolog.Logger
}

// clock compares this machine's clock with the chain's.
type clock struct {
	o clockOptions

	mu       sync.Mutex
	samples  []time.Duration // how far we are ahead; the last ones
	warned   bool
	refusing bool
}

// newClock returns a clock that has not measured yet. Error: options.ErrMissing.
func newClock(o clockOptions) (*clock, error) {
	if err := options.Complete("clock", o, "Log"); err != nil {
		return nil, err
	}
	return &clock{o: o}, nil
}

// measure asks the chain once. While it cannot be asked, the verdict stays.
func (c *clock) measure(ctx context.Context) error {
	before := c.o.Now()
	chain, err := c.o.Chain(ctx)
	if err != nil {
		return fmt.Errorf("chain's clock: %w", err)
	}
	after := c.o.Now()
	// The chain's time is cut to seconds: half a second more is its middle.
	ahead := before.Add(after.Sub(before) / 2).Sub(chain.Add(500 * time.Millisecond))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, ahead)
	c.samples = c.samples[max(0, len(c.samples)-clockSamples):]
	off := c.ahead()
	refusing := off.Abs() > c.o.Limit
	switch {
	case refusing && !c.refusing:
		c.o.Log.Error().Dur("ahead", off).Dur("limit", c.o.Limit).Msg("this machine's clock differs too much from the chain's: nothing is signed until they agree; set the clock (NTP), or name another RPC endpoint if this one is behind")
	case !refusing && c.refusing:
		c.o.Log.Info().Dur("ahead", off).Msg("this machine's clock agrees with the chain's again: signing continues")
	case off.Abs() > clockTolerance && !c.warned:
		c.o.Log.Warn().Dur("ahead", off).Msg("this machine's clock differs from the chain's; set it by NTP, or name another RPC endpoint if this one is behind")
	}
	c.refusing, c.warned = refusing, off.Abs() > clockTolerance
	return nil
}

// ahead is the smallest of the last differences.
func (c *clock) ahead() time.Duration {
	if len(c.samples) == 0 {
		return 0
	}
	least := c.samples[0]
	for _, s := range c.samples {
		if s.Abs() < least.Abs() {
			least = s
		}
	}
	return least
}

// Ahead is how far this machine's clock is ahead of the chain's.
func (c *clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead()
}

// err is ErrClock while nothing may be signed.
func (c *clock) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refusing {
		return nil
	}
	return fmt.Errorf("%w: %s ahead, at most %s either way; set it by NTP, or name another RPC endpoint if this one is behind", ErrClock, c.ahead().Round(time.Millisecond), c.o.Limit)
}

// run measures until ctx ends.
func (c *clock) run(ctx context.Context) error {
	return schedule.Every(ctx, c.o.Every, func() {
		tctx, cancel := context.WithTimeout(ctx, c.o.Every)
		defer cancel()
		if err := c.measure(tctx); err != nil && ctx.Err() == nil {
			c.o.Log.Debug().Err(err).Msg("clocks could not be compared")
		}
	})
}
