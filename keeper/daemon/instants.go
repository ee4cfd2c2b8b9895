package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// instantsKept is how many periods' instants are remembered: those of the window in which each line is measured once.
const instantsKept = 24

// instants finds the instant of a period: of its ticks in order, the first whose block makes it. Blocks are confirmed
// ones, as for draws: by the time that one is final its nodes have known for long that they are drawn.
type instants struct {
	o instantOptions

	mu     sync.Mutex
	known  map[records.Period]*search
	wanted chan records.Period
}

// search is how far a period's ticks have been looked at.
type search struct {
	tick  int         // the next
	last  chain.Block // of the tick before; zero for none
	found *instant.Instant
}

// instantOptions of instants; all but Log are required.
type instantOptions struct {
	Chain      chain.BlockSource // confirmed ones
	Domain     records.Domain
	PeriodSecs uint32
	Now        func() time.Time
	Log        zerolog.Logger
}

// newInstants returns instants that know none yet. Error: options.ErrMissing.
func newInstants(o instantOptions) (*instants, error) {
	if err := options.Complete("instants", o, "Log"); err != nil {
		return nil, err
	}
	return &instants{o: o, known: map[records.Period]*search{}, wanted: make(chan records.Period, 1)}, nil
}

// get returns a period's instant if it is known, and has it looked for otherwise, when its next tick has come.
func (s *instants) get(p records.Period) (instant.Instant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.search(p)
	if x.found != nil {
		return *x.found, true
	}
	if !s.o.Now().Before(instant.Tick(p, x.tick, s.o.PeriodSecs)) {
		select {
		case s.wanted <- p:
		default: // it is asked again
		}
	}
	return instant.Instant{}, false
}

// search returns the search for a period's instant. Callers hold mu.
func (s *instants) search(p records.Period) *search {
	x := s.known[p]
	if x == nil {
		x = &search{}
		s.known[p] = x
		for q := range s.known {
			if q+instantsKept < p {
				delete(s.known, q)
			}
		}
	}
	return x
}

// run looks for what is wanted until ctx ends.
func (s *instants) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-s.wanted:
			err := s.find(ctx, p)
			if err == nil || ctx.Err() != nil {
				continue
			}
			if !errors.Is(err, chain.ErrNoBlockYet) {
				s.o.Log.Warn().Err(err).Uint64("period", uint64(p)).Msg("keeper cannot read the block that draws which nodes are asked for work; it asks none until it can")
			}
			_ = wait.For(ctx, drawRetry)
		}
	}
}

// find looks at the ticks that have come. Errors: chain.ErrNoBlockYet, those of the chain.
func (s *instants) find(ctx context.Context, p records.Period) error {
	s.mu.Lock()
	x := *s.search(p)
	s.mu.Unlock()
	for x.found == nil {
		t := instant.Tick(p, x.tick, s.o.PeriodSecs)
		if s.o.Now().Before(t) {
			return nil
		}
		if x.last.Time.Before(t) { // else it is the first block of this tick, too
			b, err := chain.FirstBlock(ctx, s.o.Chain, t)
			if err != nil {
				return err
			}
			x.last = b
		}
		if i, here := instant.Draw(s.o.Domain, p, x.tick, x.last.Slot, x.last.Hash, x.last.Time); here {
			x.found = &i
			s.o.Log.Debug().Uint64("period", uint64(p)).Uint64("slot", i.Slot).Int("tick", x.tick).Msg("keeper knows the period's instant")
		}
		x.tick++
		s.mu.Lock()
		*s.search(p) = x
		s.mu.Unlock()
	}
	return nil
}
