package measure

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// Blocks finds instants in the chain's confirmed blocks.
type Blocks struct {
	Source     chain.BlockSource
	Domain     records.Domain
	PeriodSecs uint32
}

var _ Instants = Blocks{}

// Drawn looks for the instant of a period at its ticks from one to another. It returns the tick, Ticks where it is at none of those
// that were looked at, and the first tick whose block is not there yet. Errors: those of the source.
func (b Blocks) Drawn(ctx context.Context, p records.Period, from, to int) (at, next int, err error) {
	var last chain.Block
	for k := from; k <= to; k++ {
		tick := instant.Tick(p, k, b.PeriodSecs)
		if last.Time.Before(tick) {
			if last, err = chain.FirstBlock(ctx, b.Source, tick); errors.Is(err, chain.ErrNoBlockYet) {
				return instant.Ticks, k, nil
			} else if err != nil {
				return instant.Ticks, k, err
			}
		}
		if _, here := instant.Draw(b.Domain, p, k, last.Slot, last.Hash, last.Time); here {
			return k, k + 1, nil
		}
	}
	return instant.Ticks, to + 1, nil
}

// Is implements Instants: the first tick of the period whose first block makes the instant must be the one that is named,
// and the block the same. Errors: chain.ErrNoBlockYet, those of the source.
func (b Blocks) Is(ctx context.Context, claimed instant.Instant) (bool, error) {
	var last chain.Block
	for k := range claimed.Tick + 1 {
		at := instant.Tick(claimed.Period, k, b.PeriodSecs)
		if last.Time.Before(at) { // else it is the first block of this tick, too
			var err error
			if last, err = chain.FirstBlock(ctx, b.Source, at); err != nil {
				return false, err
			}
		}
		if found, here := instant.Draw(b.Domain, claimed.Period, k, last.Slot, last.Hash, last.Time); here {
			return same(found, claimed), nil
		}
	}
	return false, nil
}
