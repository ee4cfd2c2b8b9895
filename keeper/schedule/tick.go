package schedule

import (
	"context"
	"time"
)

// Every calls tick at an interval until ctx ends, and returns the context's error.
func Every(ctx context.Context, interval time.Duration, tick func()) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			tick()
		}
	}
}

// Pace is how often OnChange calls its tick.
type Pace struct {
	Soon     time.Duration // while something waits for its turn
	Idle     time.Duration // without a change: the clock alone changes what is due
	Debounce time.Duration // between a change and the tick, since changes come in groups
}

// OnChange calls tick at once and then after changes, until ctx ends, and returns the context's error. changed returns
// a channel that is closed at the next change; tick reports whether something waits for its turn.
func OnChange(ctx context.Context, tasks Runner, pace Pace, changed func() <-chan struct{}, tick func() (waiting bool)) error {
	for {
		ch, pause := changed(), pace.Idle
		if tick() {
			ch, pause = nil, pace.Soon // the turn comes by time, whatever changes
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-ch:
			timer.Stop()
			if err := tasks.Sleep(ctx, pace.Debounce); err != nil {
				return err
			}
		case <-timer.C:
		}
	}
}
