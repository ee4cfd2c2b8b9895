package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/gantry-market/gantry/localnet/fault"
)

// badFor is how long a bad time lasts at most; a good one of the same length follows.
const badFor = 10 * time.Second

// day is a random bad day of a Solana node.
func day() fault.Faults {
	share := func(most float64) float64 { return max(0, rand.Float64()*2-1) * most } // none in every second case
	f := fault.Faults{
		Delay: time.Duration(share(2) * float64(time.Second)), Refuse: share(0.6), Hang: share(0.2), Cut: share(0.3), Lose: share(0.8), Old: share(0.8),
	}
	if rand.IntN(3) == 0 {
		f.Fee = rand.Uint64N(1 << 40)
	}
	return f
}

// trouble lets bad and good times alternate until the returned function is called, which leaves the node good.
func (r *run) trouble(ctx context.Context) (calm func() error) {
	if !r.o.Trouble {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.alternate(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-done, r.net.Trouble(fault.Faults{}), r.net.Restore())
	}
}

func (r *run) alternate(ctx context.Context) error {
	for {
		bad := time.Duration(rand.Float64() * float64(badFor))
		if !sleep(ctx, bad) {
			return nil
		}
		var err error
		if rand.IntN(4) == 0 {
			err = r.net.Cut()
		} else {
			err = r.net.Trouble(day())
		}
		if err != nil {
			return err
		}
		sleep(ctx, bad)
		if err := errors.Join(r.net.Trouble(fault.Faults{}), r.net.Restore()); err != nil {
			return err
		}
	}
}
