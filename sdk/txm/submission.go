package txm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/records"
)

// submission carries one intent to its end. Only its goroutine changes the entry; others read snapshots and wait.
type submission struct {
	m        *Manager
	id       string
	readBack ReadBack
	extra    Keys
	started  time.Time

	mu      sync.Mutex
	entry   Entry
	lastErr error // the latest transient error
	done    bool
	err     error
	changed chan struct{} // closed and replaced on every change

	// Owned by the goroutine:
	resumed bool // an earlier process may have sent the current attempt
	sent    bool // this process has sent the current attempt
}

func newSubmission(m *Manager, r Entry, in Intent) *submission {
	return &submission{
		m: m, id: r.ID, entry: r, readBack: in.ReadBack, extra: NewKeys(in.ExtraSigners...),
		started: time.Now(), changed: make(chan struct{}),
	}
}

// resumeFrom continues from a stored entry.
func (f *submission) resumeFrom(r Entry) {
	f.mu.Lock()
	f.entry = r
	f.mu.Unlock()
	f.resumed = true
}

func (f *submission) snapshot() Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.entry
}

func (f *submission) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// over reports whether the submission has ended. Its waiters know that before the manager forgets it: an intent that one of them gives
// again is a new submission.
func (f *submission) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done || f.entry.State.Terminal()
}

// finish ends the submission for its waiters.
func (f *submission) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.done, f.err = true, err
		f.notify()
	}
}

// wait blocks until the entry satisfies want, the submission ends or ctx ends.
func (f *submission) wait(ctx context.Context, want chain.Commitment) (Result, error) {
	for {
		f.mu.Lock()
		rec, ch, done, err, problem := f.entry, f.changed, f.done, f.err, f.lastErr
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
				return rec.result(), fmt.Errorf("intent %s is still %s: %w; last error: %w", f.id, rec.State, ctx.Err(), problem)
			}
			return rec.result(), fmt.Errorf("intent %s is still %s: %w", f.id, rec.State, ctx.Err())
		}
	}
}

// save stores a changed entry, then wakes the waiters.
func (f *submission) save(r Entry) error {
	r.Updated = time.Now()
	if err := f.m.o.Store.put(r); err != nil {
		return err
	}
	f.publish(r)
	return nil
}

func (f *submission) publish(r Entry) {
	f.mu.Lock()
	f.entry = r
	f.lastErr = nil
	f.notify()
	f.mu.Unlock()
	f.m.changed(r)
}

func (f *submission) setLastError(err error) {
	f.mu.Lock()
	f.lastErr = err
	f.mu.Unlock()
}

// errStop ends the goroutine and leaves the entry as it is.
var errStop = errors.New("submission stops")

// sendWithRetry builds, sends and follows transactions until the intent is terminal, a key is missing or the manager
// closes.
func (f *submission) sendWithRetry(ctx context.Context) {
	backoff := f.m.o.Poll
	for {
		rec := f.snapshot()
		var err error
		switch rec.State {
		case StateQueued, StateExpired:
			err = f.buildAttempt(ctx, rec)
		case StateSent, StateProcessed, StateConfirmed:
			err = f.processConfirmations(ctx, rec)
		default:
			f.finish(nil)
			return
		}
		var pe *txerr.ProgramError
		var te *TxError
		switch {
		case err == nil:
			// The delay is not reset here, so that a node that refuses every new transaction is asked less and less
			// often.
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
		case errors.Is(err, ErrStale):
			f.m.hash.drop()
			continue
		case errors.As(err, &pe):
			err = f.fail(Failure{Program: pe})
		case errors.As(err, &te) && !te.retryable():
			err = f.fail(Failure{Tx: te})
		case errors.Is(err, ErrUncertain):
			err = f.fail(Failure{Uncertain: true})
		case errors.Is(err, ErrSignerMissing), errors.Is(err, ErrTooLarge), errors.Is(err, ErrFees), errors.Is(err, ErrIntent), errors.Is(err, records.ErrRefused):
			f.finish(err)
			return
		}
		if err == nil {
			continue
		}
		f.setLastError(err)
		f.m.log.Debug().Str("intent", f.id).Err(err).Dur("retry", backoff).Msg("intent waits for the next attempt")
		if wait.For(ctx, backoff) != nil {
			f.finish(ErrClosed)
			return
		}
		backoff = min(2*backoff, 3*time.Second)
	}
}

// fail stores a refusal as the outcome.
func (f *submission) fail(why Failure) error {
	r := f.snapshot()
	r.State, r.Failure = StateFailed, &why
	return f.save(r)
}

// checkReadBack asks the read-back, if there is one, whether the effect is on chain, and stores that it is.
func (f *submission) checkReadBack(ctx context.Context) (bool, error) {
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
	return true, f.save(r)
}

// buildAttempt simulates, signs and stores the next transaction.
func (f *submission) buildAttempt(ctx context.Context, rec Entry) error {
	if rec.Attempts > 0 || f.resumed {
		if done, err := f.checkReadBack(ctx); err != nil || done {
			return err
		}
	}
	form, err := f.m.form(ctx, rec)
	if err != nil {
		return err
	}
	p, err := f.m.prepare(ctx, rec, form)
	if err != nil {
		return err
	}
	// The same instructions with the same blockhash would give the same signature as another intent's. The compute
	// limit is raised by one until the transaction is unique.
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

// send hands the current attempt to the node. It returns an error only for a clear refusal of the very first send,
// which proves that the transaction is not on its way; anything else is repeated or resolved by its fate.
func (f *submission) send(ctx context.Context, a *Attempt) error {
	first := !f.sent && !f.resumed
	f.sent = true
	err := f.m.o.RPC.Send(ctx, a.Raw, chain.SendOptions{SkipPreflight: true, PreflightCommitment: chain.Processed})
	if err == nil {
		return nil
	}
	f.setLastError(err)
	var re *chain.RPCError
	if !first || errors.Is(err, chain.ErrAmbiguous) || !errors.As(err, &re) {
		return nil
	}
	return refusal(re, f.snapshot())
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
