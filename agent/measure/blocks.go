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
	_, at, err = b.search(ctx, p, from, to)
	switch {
	case errors.Is(err, chain.ErrNoBlockYet):
		return instant.Ticks, at, nil
	case err != nil:
		return instant.Ticks, at, err
	case at > to:
		return instant.Ticks, at, nil
	}
	return at, at + 1, nil
}

// Is implements Instants: the first tick of the period whose first block makes the instant must be the one that is named,
// and the block the same. Errors: chain.ErrNoBlockYet, those of the source.
func (b Blocks) Is(ctx context.Context, claimed instant.Instant) (bool, error) {
	found, at, err := b.search(ctx, claimed.Period, 0, claimed.Tick)
	return err == nil && at <= claimed.Tick && same(found, claimed), err
}

// search finds the first tick, from one to another, whose first block makes the instant of the period, and the instant. It returns the
// tick behind the last one where there is none, and the tick at which the source failed with the source's error.
func (b Blocks) search(ctx context.Context, p records.Period, from, to int) (found instant.Instant, at int, err error) {
	var last chain.Block
	for k := from; k <= to; k++ {
		tick := instant.Tick(p, k, b.PeriodSecs)
		if last.Time.Before(tick) { // else it is the first block of this tick, too
			if last, err = chain.FirstBlock(ctx, b.Source, tick); err != nil {
				return found, k, err
			}
		}
		if found, here := instant.Draw(b.Domain, p, k, last.Slot, last.Hash, last.Time); here {
			return found, k, nil
		}
	}
	return found, to + 1, nil
}
