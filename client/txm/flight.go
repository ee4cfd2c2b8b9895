package txm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-market/gantry/client/txerr"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
)

// flight drives one intent. Its goroutine alone changes the record; others
// read snapshots and wait.
type flight struct {
	m        *Manager
	id       string
	readBack ReadBack
	extra    Keys
	started  time.Time

	mu      sync.Mutex
	rec     Record
	problem error // the latest transient one
	done    bool
	err     error
	changed chan struct{} // closed and replaced on every change

	// Owned by the goroutine:
	resumed bool // an earlier process may have sent the current attempt
	sent    bool // this process has sent the current attempt
}

func newFlight(m *Manager, r Record, in Intent) *flight {
	return &flight{
		m: m, id: r.ID, rec: r, readBack: in.ReadBack, extra: NewKeys(in.ExtraSigners...),
		started: time.Now(), changed: make(chan struct{}),
	}
}

// adopt continues from a stored record.
func (f *flight) adopt(r Record) {
	f.mu.Lock()
	f.rec = r
	f.mu.Unlock()
	f.resumed = true
}

func (f *flight) snapshot() Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rec
}

func (f *flight) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// finish ends the flight for its waiters.
func (f *flight) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.done, f.err = true, err
		f.notify()
	}
}

// wait blocks until the record satisfies want, the flight ends or ctx ends.
func (f *flight) wait(ctx context.Context, want chain.Commitment) (Result, error) {
	for {
		f.mu.Lock()
		rec, ch, done, err, problem := f.rec, f.changed, f.done, f.err, f.problem
		f.mu.Unlock()
		switch {
		case rec.State == StateFailed:
			return rec.result(), rec.Failure.err()
		case rec.State.reaches(want):
			return rec.result(), nil
		case done && err != nil:
			return rec.result(), err
		case done && rec.State == StateConfirmed:
			// The node forgot the transaction before it was seen final.
			return rec.result(), nil
		case done:
			return rec.result(), ErrClosed
		}
		select {
		case <-ch:
		case <-ctx.Done():
			if problem != nil {
				return rec.result(), fmt.Errorf("intent %s is still %s: %w; last problem: %w", f.id, rec.State, ctx.Err(), problem)
			}
			return rec.result(), fmt.Errorf("intent %s is still %s: %w", f.id, rec.State, ctx.Err())
		}
	}
}

// set stores a changed record, then shows it to waiters.
func (f *flight) set(r Record) error {
	r.Updated = time.Now()
	if err := f.m.o.Store.put(r); err != nil {
		return err
	}
	f.publish(r)
	return nil
}

func (f *flight) publish(r Record) {
	f.mu.Lock()
	f.rec = r
	f.problem = nil
	f.notify()
	f.mu.Unlock()
	f.m.changed(r)
}

func (f *flight) note(err error) {
	f.mu.Lock()
	f.problem = err
	f.mu.Unlock()
}

// errStop ends the goroutine with the record as it is.
var errStop = errors.New("stop")

// drive moves the intent forward until it is terminal, its keys are missing,
// or the manager closes.
func (f *flight) drive(ctx context.Context) {
	backoff := f.m.o.Poll
	for {
		rec := f.snapshot()
		var err error
		switch rec.State {
		case StateQueued, StateExpired:
			err = f.build(ctx, rec)
		case StateSent, StateProcessed, StateConfirmed:
			err = f.follow(ctx, rec)
		default:
			f.finish(nil)
			return
		}
		var pe *txerr.ProgramError
		var te *TxError
		switch {
		case err == nil:
			// A node that refuses every new transaction is asked less and less.
			if rec.State != StateQueued && rec.State != StateExpired {
				backoff = f.m.o.Poll
			}
			continue
		case ctx.Err() != nil:
			f.finish(ErrClosed)
			return
		case errors.Is(err, errStop):
			f.finish(nil)
			return
		case errors.As(err, &pe):
			err = f.fail(Failure{Program: pe})
		case errors.As(err, &te) && !te.retryable():
			err = f.fail(Failure{Tx: te})
		case errors.Is(err, ErrUncertain):
			err = f.fail(Failure{Uncertain: true})
		case errors.Is(err, ErrSignerMissing), errors.Is(err, ErrTooLarge), errors.Is(err, ErrIntent):
			f.finish(err)
			return
		}
		if err == nil {
			continue
		}
		f.note(err)
		f.m.log.Debug().Str("intent", f.id).Err(err).Dur("retry", backoff).Msg("intent waits")
		if !sleep(ctx, backoff) {
			f.finish(ErrClosed)
			return
		}
		backoff = min(2*backoff, 3*time.Second)
	}
}

// fail stores a refusal.
func (f *flight) fail(why Failure) error {
	r := f.snapshot()
	r.State, r.Failure = StateFailed, &why
	return f.set(r)
}

// observed asks the read-back, if there is one, and stores its yes.
func (f *flight) observed(ctx context.Context) (bool, error) {
	if f.readBack == nil {
		return false, nil
	}
	done, err := f.readBack(ctx)
	if err != nil {
		return false, fmt.Errorf("read back: %w", err)
	}
	if !done {
		return false, nil
	}
	r := f.snapshot()
	r.State = StateObserved
	return true, f.set(r)
}

// build simulates, signs and stores the next transaction.
func (f *flight) build(ctx context.Context, rec Record) error {
	if rec.Attempts > 0 || f.resumed {
		if done, err := f.observed(ctx); err != nil || done {
			return err
		}
	}
	p, err := f.m.prepare(ctx, rec)
	if err != nil {
		return err
	}
	// The same instructions with the same blockhash would give the same
	// signature as another intent's. The compute limit is raised by one until
	// the transaction is unique.
	for {
		a, err := f.m.sign(rec, p, f.extra)
		if err != nil {
			return err
		}
		next := rec
		next.State, next.Current, next.Updated = StateSent, a, time.Now()
		next.Attempts++
		err = f.m.o.Store.putSigned(next)
		if errors.Is(err, errSignatureTaken) {
			p.limit++
			continue
		}
		if err != nil {
			return err
		}
		f.resumed, f.sent = false, false
		f.publish(next)
		return nil
	}
}

// send hands the current attempt to the node. It returns an error only for a
// clear refusal of the very first send, which proves that the transaction is
// not on its way; anything else is repeated or resolved by its fate.
func (f *flight) send(ctx context.Context, a *Attempt) error {
	first := !f.sent && !f.resumed
	f.sent = true
	err := f.m.o.RPC.Send(ctx, a.Raw, chain.SendOptions{SkipPreflight: true, PreflightCommitment: chain.Processed})
	if err == nil {
		return nil
	}
	f.note(err)
	var re *chain.RPCError
	if !first || errors.Is(err, chain.ErrAmbiguous) || !errors.As(err, &re) {
		return nil
	}
	return refusal(re, f.snapshot())
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// signer finds a key.
func (m *Manager) signer(key solana.PublicKey, extra Keys) (Signer, error) {
	if s, ok := extra[key]; ok {
		return s, nil
	}
	if s, ok := m.o.Keys.Signer(key); ok {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrSignerMissing, key)
}
