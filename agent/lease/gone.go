package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// Presence is what an account says when it is asked whether it is gone.
type Presence int

// The answers.
const (
	// There: the lease is on chain.
	There Presence = iota
	// Leaving: it is gone, but not finally: a fork may bring it back.
	Leaving
	// Gone: it is gone, finalized; two answers say so, of two endpoints where there are two.
	Gone
)

// askFinal is how often the chain is asked for what is not final yet.
const askFinal = time.Second

// errNotFinal: what the chain shows may still change.
var errNotFinal = errors.New("the chain shows that the lease is gone, which is not final yet")

// errHidden: the lease is there, and what is known of the chain does not show it.
var errHidden = errors.New("the lease is on chain, and what the RPC endpoint shows of it cannot be used; nothing is done about it until it can")

// absence is what is known of a lease that the view of the chain does not show.
type absence struct {
	since  uint64 // the slot from which on it has not been seen
	proven bool
	told   bool
}

// proveGone asks the account itself whether a lease that the view does not show is gone. Errors: errNotFinal,
// errHidden, those of the chain.
func (w *worker) proveGone(ctx context.Context, f Facts) error {
	awarded := f.Entry.AwardedAt.Unix()
	is, since, err := w.m.o.Chain.Gone(ctx, w.address, awarded, max(f.Entry.Slot, w.absence.since))
	if err != nil {
		return fmt.Errorf("whether the lease is gone cannot be read from the chain; until then its job keeps running: %w", err)
	}
	switch is {
	case Gone:
		w.absence.proven = true
		return nil
	case Leaving:
		w.absence.since = since
		return errNotFinal
	}
	if !w.absence.told {
		w.absence.told = true
		w.log.Warn().Str("endpoint", w.m.o.Chain.Source()).
			Msg("the RPC endpoint answered incompletely: it did not show this lease, which is on chain. The lease and its job continue unharmed, and the customer pays as before. If this message comes again, give the agent another --url")
	}
	w.absence.since = 0
	if shown, ok := w.m.o.Chain.Lease(w.address); !ok || shown.AwardedAt != awarded {
		return errHidden
	}
	return nil
}

// takeUp goes on with a lease that is stored as over, once the chain shows finally that it is not: an endpoint's answer
// was believed that was wrong. A job that was stopped for it is lost, at the machine's cost; it is not run a second
// time.
func (w *worker) takeUp(ctx context.Context, f Facts) error {
	l, err := w.m.o.Chain.Final(ctx, w.address, f.Account.Slot)
	if err != nil {
		return fmt.Errorf("read the lease as it is finalized: %w", err)
	}
	if l.AwardedAt != f.Entry.AwardedAt.Unix() || l.State() != f.Account.State() {
		return errNotFinal
	}
	to, exit := resumed(f, w.m.o.Now().UTC())
	why := map[store.State]string{
		store.Awarded: "the lease was stored as over by mistake; it had not started, and continues",
		store.Running: "the lease was stored as over by mistake; its job runs, and continues",
		store.Exited:  "the lease was stored as over by mistake; its job had ended before",
	}[to]
	if exit != nil && exit.Reason == string(runtime.Lost) {
		why = "the lease was stored as over by mistake, and its job was stopped: the job is lost, and the customer pays nothing from then on"
	}
	w.log.Warn().Str("endpoint", w.m.o.Chain.Source()).Str("state", string(to)).
		Msg(why + ". An RPC endpoint had answered wrongly; if this is said again, give the agent another --url")
	_, err = w.m.o.Store.TakeUp(store.Key(w.address), to, func(e *store.Lease) {
		setTimes(e, l)
		e.Exit, e.Note = exit, why
	})
	return err
}

// resumed is the state in which a lease is taken up again, and how its job ended, if it has.
func resumed(f Facts, now time.Time) (store.State, *store.Exit) {
	began := !stepTime(f.Entry, store.Starting).IsZero() || !stepTime(f.Entry, store.Running).IsZero()
	exit := f.Entry.Exit
	switch {
	case f.Account.State() == market.LeaseAwarded, !began:
		return store.Awarded, nil
	case f.Job == JobActive:
		return store.Running, nil
	case exit == nil && stepTime(f.Entry, store.Running).IsZero() && f.Job == JobNone:
		return store.Awarded, nil // it was about to be started
	case exit == nil, exit.Reason == string(runtime.ReasonStopped):
		return store.Exited, &store.Exit{Code: -1, Reason: string(runtime.Lost), At: now}
	}
	return store.Exited, exit
}
