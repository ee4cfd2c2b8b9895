package watch_test

import (
	"context"
	"sync"

	"github.com/gantry-market/gantry/sdk/watch"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
)

// decodeFunc reads an account. ok is false for accounts of another type.
type decodeFunc[T any] func(watch.Event) (value T, ok bool, err error)

// entry is a decoded account.
type entry[T any] struct {
	Key   solana.PublicKey
	Slot  uint64
	Value T
}

// store keeps the decoded accounts of one type in memory. Feed it from watch.Watcher.Run; it is safe for concurrent
// use. Values are shared: do not change what they point to.
type store[T any] struct {
	decode decodeFunc[T]
	log    zerolog.Logger

	mu      sync.RWMutex
	entries map[solana.PublicKey]entry[T]
	changed chan struct{} // closed and replaced on every change
}

// newStore creates an empty store.
func newStore[T any](decode decodeFunc[T], log zerolog.Logger) *store[T] {
	return &store[T]{decode: decode, log: log, entries: map[solana.PublicKey]entry[T]{}, changed: make(chan struct{})}
}

// Apply takes an event and reports whether it changed the store. An account that does not decode is logged and treated
// as absent, so that stale content is never served.
func (s *store[T]) Apply(e watch.Event) bool {
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
	s.entries[e.Pubkey] = entry[T]{Key: e.Pubkey, Slot: e.Slot, Value: v}
	s.notify()
	s.mu.Unlock()
	return true
}

func (s *store[T]) remove(key solana.PublicKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.entries[key]; !ok {
		return false
	}
	delete(s.entries, key)
	s.notify()
	return true
}

func (s *store[T]) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Get returns one account.
func (s *store[T]) Get(key solana.PublicKey) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	return e.Value, ok
}

// Len returns the number of accounts.
func (s *store[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.entries)
}

// All returns a copy of the entries for which keep is true, in no order; nil keeps all.
func (s *store[T]) All(keep func(entry[T]) bool) []entry[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]entry[T], 0, len(s.entries))
	for _, e := range s.entries {
		if keep == nil || keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// Changed returns a channel that is closed at the next change. Take it before looking at the store, or a change between
// the two goes unnoticed.
func (s *store[T]) Changed() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changed
}

// WaitFor blocks until the condition holds for one account; exists is false while there is none. Error: the context's.
func (s *store[T]) WaitFor(ctx context.Context, key solana.PublicKey, cond func(v T, exists bool) bool) (T, error) {
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
func (s *store[T]) WaitUntil(ctx context.Context, cond func(*store[T]) bool) error {
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
