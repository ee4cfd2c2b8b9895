package processor

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// Slow computes rightly and is slow, on a machine of any speed: it makes as few rounds as a run may have, in Factor times the
// profile's time of the chain, and takes Factor times as long for its walks. Local networks and tests show with it that such a
// machine is found by its figures.
type Slow struct {
	Device measure.Device
	Factor int
}

var _ measure.Device = Slow{}

// Run implements [measure.Device].
func (s Slow) Run(ctx context.Context, t measure.Task, ended func(uint32, measure.Hash)) (measure.Run, error) {
	chain := time.Duration(s.Factor) * time.Duration(t.Profile.ChainMs) * time.Millisecond
	begun := time.Now()
	walking := begun
	run, err := s.Device.Run(ctx, t, func(round uint32, root measure.Hash) {
		wait(ctx, begun.Add(chain*time.Duration(round+1)/time.Duration(t.Profile.Resident)))
		walking = time.Now()
		ended(round, root)
	})
	if err != nil {
		return nil, err
	}
	wait(ctx, walking.Add(time.Duration(s.Factor)*time.Since(walking)))
	return run, nil
}

// wait waits until a time comes or ctx ends.
func wait(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
