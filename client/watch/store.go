package watch

import (
	"context"
	"sync"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
)

// Decode reads an account. ok is false for accounts of another type.
type Decode[T any] func(Event) (value T, ok bool, err error)

// Entry is a decoded account.
type Entry[T any] struct {
	Key   solana.PublicKey
	Slot  uint64
	Value T
}

// Store keeps the decoded accounts of one type in memory. Feed it from
// Watcher.Run; it is safe for concurrent use. Values are shared: do not change
// what they point to.
type Store[T any] struct {
	decode Decode[T]
	log    zerolog.Logger

	mu      sync.RWMutex
	entries map[solana.PublicKey]Entry[T]
	changed chan struct{} // closed and replaced on every change
}

// NewStore creates an empty store.
func NewStore[T any](decode Decode[T], log zerolog.Logger) *Store[T] {
	return &Store[T]{decode: decode, log: log, entries: map[solana.PublicKey]Entry[T]{}, changed: make(chan struct{})}
}

// Apply takes an event and reports whether it changed the store. An account
// that does not decode is logged and treated as absent, so that stale content
// is never served.
func (s *Store[T]) Apply(e Event) bool {
	if e.Deleted {
		return s.remove(e.Pubkey)
	}
	v, ok, err := s.decode(e)
	if err != nil {
		s.log.Warn().Str("account", e.Pubkey.String()).Uint64("slot", e.Slot).Err(err).Msg("account does not decode")
		return s.remove(e.Pubkey)
	}
	if !ok {
		return s.remove(e.Pubkey)
	}
	s.mu.Lock()
	s.entries[e.Pubkey] = Entry[T]{Key: e.Pubkey, Slot: e.Slot, Value: v}
	s.notify()
	s.mu.Unlock()
	return true
}

func (s *Store[T]) remove(key solana.PublicKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.entries[key]; !ok {
		return false
	}
	delete(s.entries, key)
	s.notify()
	return true
}

func (s *Store[T]) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Get returns one account.
func (s *Store[T]) Get(key solana.PublicKey) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	return e.Value, ok
}

// Len returns the number of accounts.
func (s *Store[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.entries)
}

// All returns a copy of the entries for which keep is true, in no order; nil
// keeps all.
func (s *Store[T]) All(keep func(Entry[T]) bool) []Entry[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]Entry[T], 0, len(s.entries))
	for _, e := range s.entries {
		if keep == nil || keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// Changed returns a channel that is closed at the next change. Take it before
// looking at the store, or a change between the two goes unnoticed.
func (s *Store[T]) Changed() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changed
}

// WaitFor blocks until the condition holds for one account; exists is false
// while there is none. Error: the context's.
func (s *Store[T]) WaitFor(ctx context.Context, key solana.PublicKey, cond func(v T, exists bool) bool) (T, error) {
	for {
		ch := s.Changed()
		v, ok := s.Get(key)
		if cond(v, ok) {
			return v, nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// WaitUntil blocks until the condition holds for the store as a whole.
func (s *Store[T]) WaitUntil(ctx context.Context, cond func(*Store[T]) bool) error {
	for {
		ch := s.Changed()
		if cond(s) {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
