package schedule

import (
	"bytes"
	"crypto/sha256"
	"time"

	"github.com/gagliardetto/solana-go"
)

// Rank is a keeper's place in the order in which keepers try an item: by sha256(wallet ‖ item). Each waits its rank
// times a step, so that they rarely collide and a dead keeper delays nothing by more than a step.
func Rank(self solana.PublicKey, item string, keepers []solana.PublicKey) int {
	mine := rankHash(self, item)
	rank := 0
	for _, k := range keepers {
		if k == self {
			continue
		}
		if h := rankHash(k, item); bytes.Compare(h[:], mine[:]) < 0 {
			rank++
		}
	}
	return rank
}

func rankHash(k solana.PublicKey, item string) [32]byte {
	return sha256.Sum256(append(append(make([]byte, 0, 32+len(item)), k[:]...), item...))
}

// Stagger remembers since when each item is due.
type Stagger struct {
	since map[string]time.Time
}

// NewStagger returns an empty memory.
func NewStagger() *Stagger { return &Stagger{since: map[string]time.Time{}} }

// Ready reports whether it is this keeper's turn for an item that is due now.
func (s *Stagger) Ready(item string, now time.Time, rank int, step time.Duration) bool {
	first, ok := s.since[item]
	if !ok {
		first = now
		s.since[item] = now
	}
	return !now.Before(first.Add(time.Duration(rank) * step))
}

// Gone returns how long each remembered item that is not among these was due, whichever keeper did it.
func (s *Stagger) Gone(items map[string]bool, now time.Time) map[string]time.Duration {
	gone := map[string]time.Duration{}
	for item, since := range s.since {
		if !items[item] {
			gone[item] = now.Sub(since)
		}
	}
	return gone
}

// Keep forgets all items but these.
func (s *Stagger) Keep(items map[string]bool) {
	for item := range s.since {
		if !items[item] {
			delete(s.since, item)
		}
	}
}
