package market

import (
	"context"
	"errors"
	"sync"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/watch"
)

// View holds every account of the market, decoded and up to date, with the indexes that its users need. Feed it by
// Run, or by Apply from a watcher of your own. It is safe for concurrent use; what it returns are copies.
type View struct {
	log zerolog.Logger

	mu      sync.RWMutex
	t       tables
	changed chan struct{} // closed and replaced on every change
	subs    map[*Subscription]struct{}
	ready   chan struct{}
	once    sync.Once
}

// Change is one account's step from Before to After: pointers to account types of this package, nil for none. Do not
// change what they point to.
type Change struct {
	Kind    Kind
	Address solana.PublicKey
	Slot    uint64
	Before  any
	After   any
}

// NewView creates an empty view.
func NewView(log zerolog.Logger) *View {
	return &View{
		log: log, t: newTables(), changed: make(chan struct{}),
		subs: map[*Subscription]struct{}{}, ready: make(chan struct{}),
	}
}

// ViewOptions configure Run.
type ViewOptions struct {
	Client     *chain.Client
	Commitment chain.Commitment // default Confirmed
}

// Run follows the market until ctx ends; its only errors are ctx's and those of wrong options.
func (v *View) Run(ctx context.Context, o ViewOptions) error {
	w, err := watch.New(watch.Options{Client: o.Client, Program: ProgramID, Commitment: o.Commitment, Log: v.log})
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-w.Ready():
			v.SetReady()
		case <-stop:
		}
	})
	defer wg.Wait()
	defer close(stop)
	return w.Run(ctx, v.Apply)
}

// SetReady says that the first snapshot has been applied.
func (v *View) SetReady() { v.once.Do(func() { close(v.ready) }) }

// Ready waits for the first snapshot. Error: the context's.
func (v *View) Ready(ctx context.Context) error {
	select {
	case <-v.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Apply takes one event of a watcher. An account that does not decode is logged and treated as absent, so that stale
// content is never served.
func (v *View) Apply(e watch.Event) {
	var after Decoded
	if !e.Deleted {
		var err error
		after, err = Decode(Meta{Address: e.Pubkey, Slot: e.Slot, Lamports: uint64(e.Lamports)}, e.Data)
		if err != nil && len(e.Data) > 0 {
			v.log.Warn().Str("account", e.Pubkey.String()).Uint64("slot", e.Slot).Err(err).Msg("account does not decode")
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.t.remove(e.Pubkey)
	if after.Value != nil {
		v.t.insert(e.Pubkey, after)
	}
	if before.Value == nil && after.Value == nil {
		return
	}
	change := Change{Kind: after.Kind, Address: e.Pubkey, Slot: e.Slot, Before: before.Value, After: after.Value}
	if after.Value == nil {
		change.Kind = before.Kind
	}
	for s := range v.subs {
		s.push(change)
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change. Take it before looking, or a change between the two
// goes unnoticed.
func (v *View) Changed() <-chan struct{} {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.changed
}

// WaitFor blocks until the condition holds. It is asked again after every change. Error: the context's.
func (v *View) WaitFor(ctx context.Context, cond func(*View) bool) error {
	for {
		ch := v.Changed()
		if cond(v) {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
		for key, d := range v.t.all {
			s.push(Change{Kind: d.Kind, Address: key, After: d.Value})
		}
	}
	return s
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
