package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/fault"
)

// faultyFor is how long faults are injected at most; a time of the same length without faults follows.
const faultyFor = 10 * time.Second

// randomFaults is what is injected for some time.
func randomFaults() fault.Faults {
	share := func(most float64) float64 { return max(0, rand.Float64()*2-1) * most } // none in every second case
	f := fault.Faults{
		Delay: time.Duration(share(2) * float64(time.Second)), Refuse: share(0.6), Hang: share(0.2), Cut: share(0.3), Lose: share(0.8), Old: share(0.8),
	}
	if rand.IntN(3) == 0 {
		f.Fee = rand.Uint64N(1 << 40)
	}
	return f
}

// injectFaults injects faults, with pauses, until the returned function is called, which ends them all.
func (r *run) injectFaults(ctx context.Context) (stop func() error) {
	if !r.o.InjectFaults {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.alternate(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-done, r.net.InjectFaults(fault.Faults{}), r.net.Restore())
	}
}

func (r *run) alternate(ctx context.Context) error {
	for {
		length := time.Duration(rand.Float64() * float64(faultyFor))
		if wait.For(ctx, length) != nil {
			return nil
		}
		var err error
		if rand.IntN(4) == 0 {
			err = r.net.Cut()
		} else {
			err = r.net.InjectFaults(randomFaults())
		}
		if err != nil {
			return err
		}
		_ = wait.For(ctx, length)
		if err := errors.Join(r.net.InjectFaults(fault.Faults{}), r.net.Restore()); err != nil {
			return err
		}
	}
}
