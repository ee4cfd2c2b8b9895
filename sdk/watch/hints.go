package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
)

// hints are what a connection has announced and the watcher has not looked at yet: accounts with the slot of the announcement,
// and transactions. Nothing of an announcement is believed but that it is worth a look: what is there is read from the
// RPC endpoint, which was asked for its cluster, while a WebSocket's endpoint cannot be.
type hints struct {
	w *Watcher

	mu     sync.Mutex
	keys   map[solana.PublicKey]uint64
	sigs   []solana.Signature
	signal chan struct{} // holds a token while there is something
}

func newHints(w *Watcher) *hints {
	return &hints{w: w, keys: map[solana.PublicKey]uint64{}, signal: make(chan struct{}, 1)}
}

const (
	batchDelay = 20 * time.Millisecond // announcements that are read together
	maxBatch   = 64                    // transactions that are read together
	maxPending = 16384                 // transactions that may wait to be read
	maxRead    = 100                   // accounts of one question
)

// wake says that there is something. The caller holds mu.
func (h *hints) wake() {
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

// account notes that an account is worth a look at a slot.
func (h *hints) account(key solana.PublicKey, slot uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[key] = max(h.keys[key], slot)
	h.wake()
}

// program hears a notification of programSubscribe.
func (h *hints) program(raw json.RawMessage) error {
	a, err := chain.DecodeAnnounced(raw)
	if err == nil {
		h.account(a.Key, a.Slot)
	}
	return err
}

// of hears the notifications of accountSubscribe for an account.
func (h *hints) of(key solana.PublicKey) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		a, err := chain.DecodeAnnounced(raw)
		if err == nil {
			h.account(key, a.Slot)
		}
		return err
	}
}

// logs hears a notification of logsSubscribe.
func (h *hints) logs(raw json.RawMessage) error {
	var n struct {
		Value struct {
			Signature solana.Signature `json:"signature"`
			Err       json.RawMessage  `json:"err"`
			Logs      []string         `json:"logs"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		h.w.log.Warn().Err(err).Msg("log notification does not decode")
		return nil
	}
	switch {
	case len(n.Value.Err) > 0 && string(n.Value.Err) != "null": // a failed transaction writes nothing of the program's
	case n.Value.Signature.IsZero(): // a simulation: the validator announces its logs too, under an empty signature
	case !h.mayRun(n.Value.Logs):
	default:
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.sigs) >= maxPending {
			h.w.ask() // one snapshot instead of them all
			h.sigs = nil
		}
		h.sigs = append(h.sigs, n.Value.Signature)
		h.wake()
	}
	return nil
}

// mayRun reports whether a transaction with this log has run the program. One that only names it can change none of its
// accounts, and costs its sender next to nothing.
func (h *hints) mayRun(logs []string) bool {
	run := "Program " + h.w.o.Program.String() + " invoke"
	for _, l := range logs {
		if strings.HasPrefix(l, run) || strings.HasPrefix(l, "Log truncated") {
			return true
		}
	}
	return len(logs) == 0
}

// take returns what is to be looked at now.
func (h *hints) take() (keys map[solana.PublicKey]uint64, sigs []solana.Signature) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys, h.keys = h.keys, map[solana.PublicKey]uint64{}
	n := min(len(h.sigs), maxBatch)
	sigs, h.sigs = h.sigs[:n:n], h.sigs[n:]
	if len(h.sigs) > 0 {
		h.wake()
	}
	return keys, sigs
}

// run looks at what is announced until ctx ends. An error ends the session, and the snapshot of the next one repairs the
// gap.
func (h *hints) run(ctx context.Context, out chan<- reread) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.signal:
		}
		if err := wait.For(ctx, batchDelay); err != nil {
			return err
		}
		keys, sigs := h.take()
		for _, sig := range sigs {
			if err := h.written(ctx, sig, keys); err != nil {
				return err
			}
		}
		if len(keys) == 0 {
			continue
		}
		for part := range slices.Chunk(slices.Collect(maps.Keys(keys)), maxRead) {
			r, err := h.read(ctx, part, keys)
			if err != nil {
				return err
			}
			select {
			case out <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// written adds the accounts that a transaction has written, except who paid for it.
func (h *hints) written(ctx context.Context, sig solana.Signature, keys map[solana.PublicKey]uint64) error {
	var l chain.Landed
	err := patiently(ctx, chain.ErrNotFound, func() (err error) {
		l, err = h.w.o.Client.Transaction(ctx, sig, atLeastConfirmed(h.w.o.Commitment))
		return err
	})
	switch {
	case errors.Is(err, chain.ErrUnreadable):
		h.w.log.Warn().Err(err).Msg("a snapshot shows what a transaction did that cannot be read")
		h.w.ask()
		return nil
	case errors.Is(err, chain.ErrNotFound):
		return fmt.Errorf("%w: %w", errForeign, err)
	case err != nil:
		return err
	}
	for i, k := range l.Writable {
		if i > 0 {
			keys[k] = max(keys[k], l.Slot)
		}
	}
	return nil
}

// read reads accounts by one question, from no node that has not seen what was announced.
func (h *hints) read(ctx context.Context, keys []solana.PublicKey, hinted map[solana.PublicKey]uint64) (reread, error) {
	var since uint64
	for _, key := range keys {
		since = max(since, hinted[key])
	}
	var found chain.Found
	err := patiently(ctx, errBehind, func() (err error) {
		found, err = h.w.o.Client.Find(ctx, keys, h.w.o.Commitment, since)
		return behindOf(err, since)
	})
	if errors.Is(err, errBehind) {
		return reread{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	if err == nil {
		err = h.w.plausible(ctx, found.Slot)
	}
	if err != nil {
		return reread{}, fmt.Errorf("announced accounts: %w", err)
	}
	return reread{keys: keys, accounts: found.Accounts, slot: found.Slot, by: found.By}, nil
}

// behindOf turns the error of an endpoint that has not reached a slot into errBehind.
func behindOf(err error, slot uint64) error {
	if chain.IsCode(err, chain.CodeSlotNotReached) {
		return fmt.Errorf("%w %d: %w", errBehind, slot, err)
	}
	return err
}

var errBehind = errors.New("the RPC endpoint has not reached the announced slot")

// patiently repeats f for about a second and a half while it fails with this error: two parts of an endpoint may be a
// moment apart.
func patiently(ctx context.Context, with error, f func() error) error {
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		err := f()
		if !errors.Is(err, with) || pause > time.Second {
			return err
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}
