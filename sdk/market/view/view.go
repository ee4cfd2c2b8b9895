package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Listener is told of every account that is put into a View or removed from it, in order, while the View is locked: an
// index that follows the View, such as the keeper's matcher. A listener must not call the View.
type Listener interface {
	// Put says that a decoded account is at the address now.
	Put(key solana.PublicKey, value any)
	// Remove says that the decoded account is not at the address any more. It is called before Put for an account that
	// changed.
	Remove(key solana.PublicKey, value any)
}

// Options configure a View. The zero value is a silent View without listeners.
type Options struct {
	Log       zerolog.Logger // for accounts that do not decode
	Listeners []Listener
}

// View holds every account of the market, decoded and up to date. It is safe for concurrent use.
type View struct {
	log       zerolog.Logger
	listeners []Listener

	mu       sync.RWMutex
	accounts *Accounts
	slot     uint64
	changed  chan struct{} // closed and replaced on the first change after somebody took it
	taken    atomic.Bool   // somebody has changed
	subs     map[*Subscription]struct{}

	ready chan struct{}
	once  sync.Once
}

// New returns a View without accounts.
func New(o Options) *View {
	return &View{
		log: o.Log, listeners: o.Listeners, accounts: NewAccounts(), changed: make(chan struct{}),
		subs: map[*Subscription]struct{}{}, ready: make(chan struct{}),
	}
}

// Source is the cluster that Run follows.
type Source struct {
	Client     *chain.Client
	Commitment chain.Commitment // default Confirmed
	Scope      watch.Scope      // default all accounts
}

// Run follows the market until ctx ends; its only errors are ctx's and those of a wrong source.
func (v *View) Run(ctx context.Context, s Source) error {
	o := watch.Options{Client: s.Client, Program: market.ProgramID, Commitment: s.Commitment, Scope: s.Scope, Log: v.log}
	if !s.Scope.All() {
		o.Certain = market.MarketAddress() // for endpoints that refuse filters
	}
	w, err := watch.New(o)
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
	return w.Run(ctx, func(e watch.Event) { v.applyLogged(e) })
}

// Snapshot reads the accounts of a scope once into a View that does not follow the chain. Where one has a layout that this version
// does not know, as after an upgrade of the program, it fails: a market without that account would be a wrong one. Errors:
// market.ErrProgramMismatch, the chain's.
func Snapshot(ctx context.Context, c *chain.Client, v *View, at chain.Commitment, s watch.Scope) error {
	accounts, _, err := watch.Read(ctx, c, market.ProgramID, at, s)
	if watch.Refused(err) && !s.All() {
		v.log.Warn().Err(err).Msg("the RPC endpoint refuses filters: all accounts of the market are read; another --url may serve them")
		accounts, _, err = watch.Read(ctx, c, market.ProgramID, at, watch.Scope{})
		if err == nil && !slices.ContainsFunc(accounts, func(a chain.Account) bool { return a.Key == market.MarketAddress() }) {
			err = fmt.Errorf("%w: its list of the market's accounts is incomplete; try again, or give another --url", chain.ErrAnswer)
		}
	}
	if err != nil {
		return err
	}
	for _, a := range accounts {
		err := v.Apply(watch.Event{Pubkey: a.Key, Owner: a.Owner, Lamports: a.Lamports, Data: a.Data, Slot: a.Slot})
		if errors.Is(err, market.ErrLayout) {
			return &market.Error{Reason: fmt.Sprintf("%v: %v", market.ErrProgramMismatch, err), Advice: "update gantry to the version of the market's program", Kind: market.ErrProgramMismatch, Cause: err}
		}
		v.logged(a.Key, a.Slot, err)
	}
	v.SetReady()
	return nil
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

func (v *View) applyLogged(e watch.Event) {
	v.logged(e.Pubkey, e.Slot, v.Apply(e))
}

func (v *View) logged(account solana.PublicKey, slot uint64, err error) {
	if err != nil {
		v.log.Warn().Str("account", account.String()).Uint64("slot", slot).Err(err).Msg("account does not decode")
	}
}

// Apply takes one event of a watcher. An account that does not decode is treated as absent, so that stale content is
// never served, and reported.
func (v *View) Apply(e watch.Event) error {
	var value any
	var err error
	if !e.Deleted && len(e.Data) > 0 {
		var d market.Decoded
		d, err = market.Decode(market.Meta{Address: e.Pubkey, Slot: e.Slot, Lamports: uint64(e.Lamports)}, e.Data)
		value = d.Value
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.slot = max(v.slot, e.Slot)
	v.put(e.Pubkey, e.Slot, value)
	return err
}

// Put sets a decoded account, or removes it when value is nil. It is what Apply does, for chains in memory.
func (v *View) Put(key solana.PublicKey, value any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.put(key, v.slot, value)
}

func (v *View) put(key solana.PublicKey, slot uint64, value any) {
	before := v.accounts.Put(key, value)
	if before == nil && value == nil {
		return
	}
	for _, l := range v.listeners {
		if before != nil {
			l.Remove(key, before)
		}
		if value != nil {
			l.Put(key, value)
		}
	}
	if len(v.subs) > 0 {
		v.publish(key, slot, before, value)
	}
	if v.taken.Swap(false) { // a start puts hundreds of thousands of accounts for which no caller waits
		close(v.changed)
		v.changed = make(chan struct{})
	}
}

// Read calls f with the accounts; f must not keep its maps nor change anything. Single accounts may be kept: they never
// change.
func (v *View) Read(f func(*Accounts)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	f(v.accounts)
}

// Slot returns the highest slot seen.
func (v *View) Slot() uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.slot
}

// Changed returns a channel that is closed at the next change. Take it before looking, or a change between the two goes
// unnoticed.
func (v *View) Changed() <-chan struct{} {
	v.mu.RLock()
	defer v.mu.RUnlock()
	v.taken.Store(true) // put is locked out meanwhile
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
