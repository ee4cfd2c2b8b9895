package watch

import (
	"context"
	"fmt"
	"sync"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/sdk/chain"
)

// follower listens to the single accounts of a scope. A node's programSubscribe says nothing when an account is closed
// or ceases to pass the filter; its accountSubscribe does.
type follower struct {
	ws    *chain.WS
	hints *hints
	conf  map[string]any

	mu     sync.Mutex
	want   map[solana.PublicKey]bool
	signal chan struct{}

	subs map[solana.PublicKey]*chain.Subscription // of run's goroutine
}

func newFollower(ws *chain.WS, h *hints, conf map[string]any) *follower {
	return &follower{ws: ws, hints: h, conf: conf, signal: make(chan struct{}, 1), subs: map[solana.PublicKey]*chain.Subscription{}}
}

// follow sets the accounts to listen to.
func (f *follower) follow(want map[solana.PublicKey]bool) {
	f.mu.Lock()
	f.want = want
	f.mu.Unlock()
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// subscribing is how many subscriptions are asked for at once.
const subscribing = 32

// run keeps the subscriptions to what follow said until ctx ends.
func (f *follower) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.signal:
		}
		f.mu.Lock()
		want := f.want
		f.mu.Unlock()
		if err := f.change(ctx, want); err != nil {
			return fmt.Errorf("account subscription: %w", err)
		}
	}
}

func (f *follower) change(ctx context.Context, want map[solana.PublicKey]bool) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(subscribing)
	for key, sub := range f.subs {
		if !want[key] {
			delete(f.subs, key)
			g.Go(func() error { return sub.Unsubscribe(gctx) })
		}
	}
	var mu sync.Mutex
	made := map[solana.PublicKey]*chain.Subscription{}
	for key := range want {
		if f.subs[key] != nil {
			continue
		}
		g.Go(func() error {
			sub, err := f.ws.Listen(gctx, "accountSubscribe", "accountUnsubscribe", f.hints.of(key), key, f.conf)
			if err != nil {
				return err
			}
			f.hints.account(key, 0) // it may have changed since it was read
			mu.Lock()
			defer mu.Unlock()
			made[key] = sub
			return nil
		})
	}
	err := g.Wait()
	for key, sub := range made {
		f.subs[key] = sub
	}
	return err
}
