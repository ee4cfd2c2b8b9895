package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
)

// writeReader reads the accounts that the program's transactions wrote.
type writeReader struct {
	w   *Watcher
	out chan<- reread
}

const (
	batchDelay = 20 * time.Millisecond // transactions read together
	maxBatch   = 64
)

func (t *writeReader) run(ctx context.Context, raw <-chan json.RawMessage) error {
	for {
		var sigs []solana.Signature
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-raw:
			sigs = t.add(sigs, m)
		}
		timer := time.NewTimer(batchDelay)
	collect:
		for len(sigs) < maxBatch {
			select {
			case m := <-raw:
				sigs = t.add(sigs, m)
			case <-timer.C:
				break collect
			}
		}
		timer.Stop()
		if len(sigs) == 0 {
			continue
		}
		if err := t.read(ctx, sigs); err != nil {
			return err
		}
	}
}

func (t *writeReader) add(sigs []solana.Signature, raw json.RawMessage) []solana.Signature {
	var n struct {
		Value struct {
			Signature solana.Signature `json:"signature"`
			Err       json.RawMessage  `json:"err"`
			Logs      []string         `json:"logs"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		t.w.log.Warn().Err(err).Msg("log notification does not decode")
		return sigs
	}
	if len(n.Value.Err) > 0 && string(n.Value.Err) != "null" {
		return sigs // a failed transaction writes nothing of the program's
	}
	if n.Value.Signature.IsZero() {
		return sigs // a simulation: the validator announces its logs too, under an empty signature
	}
	if !t.mayRun(n.Value.Logs) {
		return sigs
	}
	return append(sigs, n.Value.Signature)
}

// mayRun reports whether a transaction with this log has run the program. One that only names it can change none of its
// accounts, and costs its sender next to nothing.
func (t *writeReader) mayRun(logs []string) bool {
	run := "Program " + t.w.o.Program.String() + " invoke"
	for _, l := range logs {
		if strings.HasPrefix(l, run) || strings.HasPrefix(l, "Log truncated") {
			return true
		}
	}
	return len(logs) == 0
}

// read fetches the transactions, then the accounts that they wrote.
func (t *writeReader) read(ctx context.Context, sigs []solana.Signature) error {
	at := atLeastConfirmed(t.w.o.Commitment)
	var keys []solana.PublicKey
	var slot uint64
	for _, sig := range sigs {
		l, err := t.transaction(ctx, sig, at)
		if errors.Is(err, chain.ErrUnreadable) {
			t.w.log.Warn().Err(err).Msg("a snapshot shows what a transaction did that cannot be read")
			select {
			case t.w.resync <- struct{}{}:
			default:
			}
			continue
		}
		if err != nil {
			return err
		}
		slot = max(slot, l.Slot)
		for i, k := range l.Writable {
			if i > 0 && !slices.Contains(keys, k) { // the first pays the fee
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	// Not from a node that has not seen these transactions yet.
	accs, slot, err := t.w.o.Client.AccountsSince(ctx, keys, t.w.o.Commitment, slot)
	if err != nil {
		return fmt.Errorf("accounts of a transaction: %w", err)
	}
	select {
	case t.out <- reread{keys, accs, slot}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transaction waits for the node to serve a transaction that it has just announced. An error ends the session, and the
// snapshot of the next one repairs the gap.
func (t *writeReader) transaction(ctx context.Context, sig solana.Signature, at chain.Commitment) (chain.Landed, error) {
	pause := 10 * time.Millisecond
	for {
		l, err := t.w.o.Client.Transaction(ctx, sig, at)
		if err == nil || !errors.Is(err, chain.ErrNotFound) || pause > time.Second {
			return l, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return l, ctx.Err()
		case <-timer.C:
		}
		pause *= 2
	}
}
