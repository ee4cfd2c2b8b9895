package daemon

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/clock"
)

// openClock reads what time it is on chain. Leases, receipts, grants, bids and measurements go by it and by nothing
// else: until it is known the agent does nothing.
func (a *Agent) openClock(ctx context.Context) (err error) {
	a.clock, err = clock.New(clock.Options{
		Read:  func(ctx context.Context) ([]time.Time, error) { return a.client.Clocks(ctx, chain.Confirmed) },
		Local: func() bool { return a.local }, Log: a.log.With().Str("part", "clock").Logger(), Machine: a.simulation().date,
		Means: "leases do not suffer: everything that is agreed on chain goes by the chain's time; while the clock is behind, bids in sealed auctions are revealed too late and lose",
	})
	if err != nil {
		return err
	}
	return a.clock.Look(ctx)
}
