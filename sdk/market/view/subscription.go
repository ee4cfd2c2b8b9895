package view

import (
	"context"
	"errors"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Change is one account's step from Before to After: pointers to account types of package market, nil for none. Do not
// change what they point to.
type Change struct {
	Kind    market.Kind
	Address solana.PublicKey
	Slot    uint64
	Before  any
	After   any
}

// ErrSubscriptionClosed is the error of Next after Close.
var ErrSubscriptionClosed = errors.New("subscription closed")

// Subscription is a queue of every change since it was made. Close it, or it grows.
type Subscription struct {
	view *View

	mu     sync.Mutex
	queue  []Change
	signal chan struct{} // holds one token while the queue is not empty
	closed chan struct{}
	once   sync.Once
}

// Subscribe starts a queue of changes. With replay it begins with every account that exists now.
func (v *View) Subscribe(replay bool) *Subscription {
	s := &Subscription{view: v, signal: make(chan struct{}, 1), closed: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.subs[s] = struct{}{}
	if replay {
		for key, value := range v.accounts.all {
			s.push(Change{Kind: market.KindOf(value), Address: key, After: value})
		}
	}
	return s
}

// publish tells the subscriptions of a change. One of before and after is not nil.
func (v *View) publish(key solana.PublicKey, slot uint64, before, after any) {
	c := Change{Kind: market.KindOf(after), Address: key, Slot: slot, Before: before, After: after}
	if after == nil {
		c.Kind = market.KindOf(before)
	}
	for s := range v.subs {
		s.push(c)
	}
}

func (s *Subscription) push(c Change) {
	s.mu.Lock()
	s.queue = append(s.queue, c)
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// Next waits for a change. Errors: the context's, ErrSubscriptionClosed.
func (s *Subscription) Next(ctx context.Context) (Change, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			c := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return c, nil
		}
		s.mu.Unlock()
		select {
		case <-s.signal:
		case <-s.closed:
			return Change{}, ErrSubscriptionClosed
		case <-ctx.Done():
			return Change{}, ctx.Err()
		}
	}
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.once.Do(func() {
		s.view.mu.Lock()
		delete(s.view.subs, s)
		s.view.mu.Unlock()
		close(s.closed)
	})
}
