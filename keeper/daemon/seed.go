package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/committee"
)

const (
	// seedLead is how long before a period's start the block lies whose hash draws its committees: so long that it is
	// final when the period starts, and no longer, so that nobody knows the committees much earlier.
	seedLead = 30 * time.Second
	// seedRetry is the pause before a seed that could not be found is looked for again.
	seedRetry = 2 * time.Second
	// seedsKept is how many are remembered.
	seedsKept = 64
)

var errNotFinal = errors.New("no block of that time is final yet")

// blocks is what seeds need of the chain.
type blocks interface {
	// Last is the last final slot.
	Last(ctx context.Context) (uint64, error)
	// At is the first final block at a slot or after it.
	At(ctx context.Context, slot uint64) (block, error)
}

// block is a final block.
type block struct {
	slot uint64
	hash [32]byte
	time time.Time
}

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
	Chain      blocks
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
				if errors.Is(err, errNotFinal) {
					level = zerolog.DebugLevel
				}
				s.o.Log.WithLevel(level).Err(err).Uint64("period", uint64(p)).Msg("keeper does not know the seed of the committees; idle nodes are not checked yet")
				select {
				case <-ctx.Done():
				case <-time.After(seedRetry):
				}
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
	b, err := firstBlock(ctx, s.o.Chain, p.Start(time.Duration(s.o.PeriodSecs)*time.Second).Add(-seedLead))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[p] = committee.NewSeed(s.o.Domain, p, b.slot, b.hash)
	for q := range s.known {
		if q+seedsKept < p {
			delete(s.known, q)
		}
	}
	s.o.Log.Debug().Uint64("period", uint64(p)).Uint64("slot", b.slot).Msg("keeper knows the seed of the committees")
	return nil
}

// firstBlock is the first final block whose time is at least t: a search over slots, in whose order times do not fall.
// Error: errNotFinal.
func firstBlock(ctx context.Context, c blocks, t time.Time) (block, error) {
	last, err := c.Last(ctx)
	if err != nil {
		return block{}, err
	}
	best, err := c.At(ctx, last)
	if err != nil {
		return block{}, err
	}
	if best.time.Before(t) {
		return block{}, errNotFinal
	}
	// Go back until before t, by what slots usually last, then twice as far.
	high, step := best.slot, uint64(best.time.Sub(t)/(400*time.Millisecond))+64
	low := uint64(0) // the slot before the first that is looked at
	for high > 0 {
		from := high - min(step, high)
		b, err := c.At(ctx, from)
		if err != nil {
			return block{}, err
		}
		if b.time.Before(t) {
			low = b.slot + 1
			break
		}
		best, high, step = b, from, 2*step
	}
	for low < high {
		mid := low + (high-low)/2
		b, err := c.At(ctx, mid)
		if err != nil {
			return block{}, err
		}
		if b.time.Before(t) {
			low = b.slot + 1
		} else {
			best, high = b, mid
		}
	}
	return best, nil
}

// chainBlocks asks an RPC node.
type chainBlocks struct{ client *chain.Client }

// Last implements blocks.
func (c chainBlocks) Last(ctx context.Context) (uint64, error) {
	return c.client.Slot(ctx, chain.Finalized)
}

// At implements blocks.
func (c chainBlocks) At(ctx context.Context, slot uint64) (block, error) {
	var slots []uint64
	final := map[string]any{"commitment": "finalized"}
	if err := c.client.Raw(ctx, &slots, "getBlocksWithLimit", slot, 1, final); err != nil {
		return block{}, fmt.Errorf("blocks from slot %d: %w", slot, err)
	}
	if len(slots) == 0 {
		return block{}, errNotFinal
	}
	var got struct {
		Hash string `json:"blockhash"`
		Time *int64 `json:"blockTime"`
	}
	err := c.client.Raw(ctx, &got, "getBlock", slots[0], map[string]any{
		"commitment": "finalized", "transactionDetails": "none", "rewards": false, "maxSupportedTransactionVersion": 0,
	})
	if err != nil {
		return block{}, fmt.Errorf("block at slot %d: %w", slots[0], err)
	}
	if got.Time == nil {
		return block{}, fmt.Errorf("block at slot %d has no time", slots[0])
	}
	hash, err := solana.HashFromBase58(got.Hash)
	return block{slots[0], hash, time.Unix(*got.Time, 0)}, err
}
