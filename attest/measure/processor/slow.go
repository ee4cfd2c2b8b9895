package processor

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// Slow computes rightly and is slow, on a machine of any speed: it makes as few rounds as a run may have, in Factor times the
// profile's time of the chain, and takes Factor times as long for its walks. It states those times. Local networks and tests show
// with it that such a machine is found by its figures.
type Slow struct {
	Device measure.Device
	Factor int
}

var _ measure.Device = Slow{}

// Run implements [measure.Device].
func (s Slow) Run(ctx context.Context, t measure.Task, ended func(uint32, measure.Hash)) (measure.Run, error) {
	chain := time.Duration(s.Factor) * time.Duration(t.Profile.ChainMs) * time.Millisecond
	begun := time.Now()
	few := t
	few.Profile.ChainMs = 0
	run, err := s.Device.Run(ctx, few, func(round uint32, root measure.Hash) {
		wait(ctx, begun.Add(chain*time.Duration(round+1)/time.Duration(t.Profile.Resident)))
		ended(round, root)
	})
	if err != nil {
		return nil, err
	}
	// By the device's own clock: the time for which its walks wait for a processor is not multiplied.
	wait(ctx, time.Now().Add(time.Duration(s.Factor-1)*run.Result().Walk))
	return slowRun{run, chain, s.Factor}, nil
}

type slowRun struct {
	measure.Run
	chain  time.Duration
	factor int
}

func (r slowRun) Result() measure.Result {
	out := r.Run.Result()
	out.Chain, out.Walk = r.chain, time.Duration(r.factor)*out.Walk
	return out
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
