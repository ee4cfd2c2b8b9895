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
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// seedRetry is the pause before a seed that could not be found is looked for again.
	seedRetry = 2 * time.Second
	// seedsKept is how many are remembered.
	seedsKept = 64
)

// seeds finds the seeds of periods: of the first block whose time is at least the period's start less seedLead. Every
// keeper finds the same one, whenever it looks.
type seeds struct {
	o seedOptions

	mu     sync.Mutex
	known  map[records.Period]committee.Seed
	wanted chan records.Period
}

// seedOptions of seeds; all but Log are required.
type seedOptions struct {
	Chain      chain.BlockSource // final ones
	Domain     records.Domain
	PeriodSecs uint32
	Log        zerolog.Logger
}

// newSeeds returns seeds that know none yet. Error: options.ErrMissing.
func newSeeds(o seedOptions) (*seeds, error) {
	if err := options.Complete("seeds", o, "Log"); err != nil {
		return nil, err
	}
	return &seeds{o: o, known: map[records.Period]committee.Seed{}, wanted: make(chan records.Period, 16)}, nil
}

// get returns a period's seed if it is known, and has it looked for otherwise.
func (s *seeds) get(p records.Period) (committee.Seed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seed, ok := s.known[p]
	if !ok {
		select {
		case s.wanted <- p:
		default: // it is asked again
		}
	}
	return seed, ok
}

// run looks for what is wanted until ctx ends.
func (s *seeds) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-s.wanted:
			if err := s.find(ctx, p); err != nil && ctx.Err() == nil {
				level := zerolog.WarnLevel
				if errors.Is(err, chain.ErrNoBlockYet) {
					level = zerolog.DebugLevel
				}
				s.o.Log.WithLevel(level).Err(err).Uint64("period", uint64(p)).Msg("keeper does not know the seed of the committees; idle nodes are not checked yet")
				_ = wait.For(ctx, seedRetry)
			}
		}
	}
}

func (s *seeds) find(ctx context.Context, p records.Period) error {
	s.mu.Lock()
	_, ok := s.known[p]
	s.mu.Unlock()
	if ok {
		return nil
	}
	b, err := chain.FirstBlock(ctx, s.o.Chain, committee.SeedAt(p, s.o.PeriodSecs))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[p] = committee.NewSeed(s.o.Domain, p, b.Slot, b.Hash)
	for q := range s.known {
		if q+seedsKept < p {
			delete(s.known, q)
		}
	}
	s.o.Log.Debug().Uint64("period", uint64(p)).Uint64("slot", b.Slot).Msg("keeper knows the seed of the committees")
	return nil
}
