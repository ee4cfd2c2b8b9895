package txm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gantry-market/gantry/sdk/chain"
)

// processConfirmations sends the current attempt, watches its status and broadcasts it again until it is final,
// refused, or can provably never land.
func (f *submission) processConfirmations(ctx context.Context, rec Entry) error {
	a := rec.Current
	if a == nil {
		return fmt.Errorf("%w: %s is %s without a transaction", ErrIntent, rec.ID, rec.State)
	}
	w := f.m.track.watch(a.Signature, rec.State == StateConfirmed)
	defer f.m.track.unwatch(a.Signature)

	if rec.State == StateSent && !f.sent && !f.resumed {
		if err := f.send(ctx, a); err != nil {
			return f.handleSendRefusal(err)
		}
	}
	rebroadcast := time.NewTicker(f.m.o.Rebroadcast)
	defer rebroadcast.Stop()
	expiry := time.NewTicker(f.m.o.ExpiryCheck)
	defer expiry.Stop()
	found := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case st := <-w:
			found = st.Found
			if !found {
				if f.resumed && !f.sent && f.snapshot().State == StateSent {
					if err := f.send(ctx, a); err != nil {
						return err
					}
				}
				continue
			}
			if end, err := f.applyStatus(ctx, st); end || err != nil {
				return err
			}
		case <-rebroadcast.C:
			if !found && f.snapshot().State != StateConfirmed {
				if err := f.send(ctx, a); err != nil {
					return err
				}
			}
		case <-expiry.C:
			if found {
				continue
			}
			if end, err := f.resolveFate(ctx, a); end || err != nil {
				return err
			}
		}
	}
}

// handleSendRefusal handles a clear refusal of the first send: nothing is on its way, so a replacement may be signed at
// once.
func (f *submission) handleSendRefusal(err error) error {
	var te *TxError
	var pe *txerr.ProgramError
	switch {
	case errors.As(err, &te) && te.Name == "AlreadyProcessed":
		return nil // the node has it: follow it
	case errors.As(err, &pe), errors.As(err, &te) && !te.retryable():
		return err
	}
	f.m.hash.drop()
	r := f.snapshot()
	r.State = StateExpired
	if perr := f.save(r); perr != nil {
		return perr
	}
	return err // the next attempt is built after the delay
}

// applyStatus stores the status that a node reported. end means that the attempt needs no more watching.
func (f *submission) applyStatus(ctx context.Context, st chain.SignatureStatus) (end bool, err error) {
	r := f.snapshot()
	if st.Err != nil {
		// A refusal in a block that may still be dropped decides nothing: the transaction could land differently on
		// another fork.
		if !st.Commitment.Reaches(chain.Confirmed) {
			return false, nil
		}
		return true, f.processRefusal(ctx, r, st)
	}
	next := stateOf(st.Commitment)
	if next == r.State || (r.State == StateConfirmed && next == StateProcessed) {
		return false, nil
	}
	confirmed := r.State != StateConfirmed && next != StateProcessed
	r.State, r.Slot = next, st.Slot
	if err := f.save(r); err != nil {
		return false, err
	}
	if confirmed {
		f.m.seen.raise(st.Slot)
		f.m.track.slowDown(r.Current.Signature)
		f.m.queueLanded(r, nil, time.Since(f.started))
	}
	return next == StateFinalised, nil
}

// processRefusal reads the log of a transaction that landed and was refused, and stores the refusal; when only the
// compute limit was too low, it lets the transaction be built again.
func (f *submission) processRefusal(ctx context.Context, r Entry, st chain.SignatureStatus) error {
	var logs []string
	for try := range 5 {
		l, err := f.m.o.RPC.Transaction(ctx, r.Current.Signature, chain.Confirmed)
		if err == nil {
			logs = l.Logs
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if try == 4 {
			f.m.log.Warn().Str("intent", r.ID).Err(err).Msg("node has no log of a refused transaction")
		} else if wait.For(ctx, f.m.o.Poll*time.Duration(1+try)) != nil {
			return ctx.Err()
		}
	}
	r.Slot = st.Slot
	why := decodeTxError(st.Err, logs, r.Instructions, r.Payer)
	var pe *txerr.ProgramError
	if errors.As(why, &pe) {
		pe.Signature = r.Current.Signature
	}
	f.m.seen.raise(st.Slot)
	f.m.queueLanded(r, why, time.Since(f.started))
	if outOfCompute(why) && r.Boost < 3 && r.Current.Limit < maxUnits {
		r.Boost++
		r.State = StateExpired // landed without effect, so a rebuild is safe
		return f.save(r)
	}
	r.State, r.Failure = StateFailed, &Failure{Program: pe}
	if pe == nil {
		te := &TxError{Name: "unknown"}
		errors.As(why, &te)
		r.Failure = &Failure{Tx: te}
	}
	return f.save(r)
}

// resolveFate decides about a transaction that no node has seen lately: it landed, may still land, or never can.
func (f *submission) resolveFate(ctx context.Context, a *Attempt) (end bool, err error) {
	fate, st, err := f.m.o.RPC.Fate(ctx, a.Signature, a.LastValid, a.SinceSlot)
	if err != nil {
		f.setLastError(err)
		if chain.Transient(err) || ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, err
	}
	r := f.snapshot()
	switch fate {
	case chain.FateLanded:
		return f.applyStatus(ctx, st)
	case chain.FateOpen:
		return false, nil
	}
	// A transaction that was once confirmed is never sent again, even if the node has dropped it from its memory since.
	if r.State == StateConfirmed {
		return true, errStop
	}
	if fate == chain.FateUncertain {
		done, err := f.checkReadBack(ctx)
		if err != nil || done {
			return done, err
		}
		if !r.Repeatable {
			return true, ErrUncertain
		}
	}
	f.m.hash.drop()
	r.State = StateExpired
	r.Bids++
	return true, f.save(r)
}

// refusal reads the node's reason for not taking a transaction.
func refusal(re *chain.RPCError, r Entry) error {
	if te := malformed(re); te != nil {
		return te
	}
	if re.Code != chain.CodeSimulationFailed {
		return re
	}
	var d struct {
		Err  json.RawMessage `json:"err"`
		Logs []string        `json:"logs"`
	}
	if json.Unmarshal(re.Data, &d) != nil || len(d.Err) == 0 || string(d.Err) == "null" {
		return re
	}
	err := decodeTxError(d.Err, d.Logs, r.Instructions, r.Payer)
	var pe *txerr.ProgramError
	if errors.As(err, &pe) {
		pe.Simulated = true
	}
	return err
}
