package daemon

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// drawRetry is the pause before a block that is not there yet is looked for again.
	drawRetry = 400 * time.Millisecond
	// drawsKept is how many draws are remembered.
	drawsKept = 256
)

// draws finds the seeds by which the nodes of redundant orders are drawn: of the first confirmed block after the order's
// creation. An order's award deadline is too short to wait until that block is final; a confirmed block has never been
// taken back, and if one were, keepers would draw again by the block in its place.
type draws struct {
	o drawOptions

	mu     sync.Mutex
	known  map[draw]market.DrawSeed
	wanted chan draw
}

// draw names an order in one of its lives.
type draw struct {
	order     solana.PublicKey
	createdAt int64
}

// drawOptions of draws; all but Log are required.
type drawOptions struct {
	Chain  chain.BlockSource // confirmed ones
	Domain records.Domain
	Log    zerolog.Logger
}

// newDraws returns draws that know none yet. Error: options.ErrMissing.
func newDraws(o drawOptions) (*draws, error) {
	if err := options.Complete("draws", o, "Log"); err != nil {
		return nil, err
	}
	return &draws{o: o, known: map[draw]market.DrawSeed{}, wanted: make(chan draw, 16)}, nil
}

// get returns an order's seed if it is known, and has it looked for otherwise.
func (d *draws) get(o *market.Order) (market.DrawSeed, bool) {
	of := draw{o.Address, o.CreatedAt}
	d.mu.Lock()
	defer d.mu.Unlock()
	seed, ok := d.known[of]
	if !ok {
		select {
		case d.wanted <- of:
		default: // it is asked again
		}
	}
	return seed, ok
}

// run looks for what is wanted until ctx ends.
func (d *draws) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case of := <-d.wanted:
			err := d.find(ctx, of)
			if err == nil || ctx.Err() != nil {
				continue
			}
			if !errors.Is(err, chain.ErrNoBlockYet) {
				d.o.Log.Warn().Err(err).Stringer("order", of.order).Msg("keeper does not know the block that draws the nodes of a redundant order")
			}
			_ = wait.For(ctx, drawRetry)
		}
	}
}

func (d *draws) find(ctx context.Context, of draw) error {
	d.mu.Lock()
	_, ok := d.known[of]
	d.mu.Unlock()
	if ok {
		return nil
	}
	b, err := chain.FirstBlock(ctx, d.o.Chain, market.DrawTime(of.createdAt))
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= drawsKept { // the oldest orders are awarded or over
		oldest := draw{createdAt: math.MaxInt64}
		for other := range d.known {
			if other.createdAt < oldest.createdAt {
				oldest = other
			}
		}
		delete(d.known, oldest)
	}
	d.known[of] = market.NewDrawSeed(d.o.Domain, of.order, b.Hash)
	d.o.Log.Debug().Stringer("order", of.order).Uint64("slot", b.Slot).Msg("keeper knows the block that draws the nodes")
	return nil
}
