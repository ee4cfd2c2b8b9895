package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/options"
)

// slotHashOptions of a slotHash; all are required.
type slotHashOptions struct {
	Latest func(context.Context) ([32]byte, error) // hash of the latest final slot
	TTL    time.Duration                           // for which a hash is used
	Now    func() time.Time
}

// slotHash returns the hash of a recent final slot, which it reads from the chain at intervals.
type slotHash struct {
	o slotHashOptions

	mu   sync.Mutex
	hash [32]byte
	at   time.Time
}

// newSlotHash returns a slotHash that has read none yet. Error: options.ErrMissing.
func newSlotHash(o slotHashOptions) (*slotHash, error) {
	if err := options.Complete("slot hash", o); err != nil {
		return nil, err
	}
	return &slotHash{o: o}, nil
}

func (s *slotHash) get(ctx context.Context) ([32]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && s.o.Now().Sub(s.at) < s.o.TTL {
		return s.hash, nil
	}
	hash, err := s.o.Latest(ctx)
	if err != nil {
		return s.hash, err
	}
	s.hash, s.at = hash, s.o.Now()
	return s.hash, nil
}
