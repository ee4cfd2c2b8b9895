package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// ask asks for a snapshot.
func (w *Watcher) ask() {
	select {
	case w.resync <- struct{}{}:
	default:
	}
}

type snapshot struct {
	accounts []chain.Account
	seen     map[solana.PublicKey]bool // their addresses
	slot     uint64                    // of the oldest answer
	by       []string                  // the endpoints that gave the lists
	empty    bool                      // one of the lists is empty
}

// resnapshot takes a snapshot at every interval, and when one is asked for, but then no more often than the gap allows:
// strangers can make transactions that ask for one. A snapshot with an empty list is soon taken again, more and more
// rarely: nothing says whether that list is complete. So is one that fails.
func (w *Watcher) resnapshot(ctx context.Context, empty bool, out chan<- snapshot) error {
	var every <-chan time.Time
	if w.o.Resnapshot > 0 {
		tick := time.NewTicker(w.o.Resnapshot)
		defer tick.Stop()
		every = tick.C
	}
	gap := time.NewTimer(0)
	defer gap.Stop()
	again := time.NewTimer(w.o.ResyncGap)
	defer again.Stop()
	for emptied := 0; ; {
		var retry <-chan time.Time
		if empty && w.o.Resnapshot > 0 {
			again.Reset(min(w.o.ResyncGap<<min(emptied, 6), w.o.Resnapshot))
			retry = again.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every:
		case <-retry:
			emptied++
		case <-w.resync:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-gap.C:
				gap.Reset(w.resyncGap())
			}
		}
		s, err := w.read(ctx)
		if ctx.Err() != nil || Refused(err) {
			return errors.Join(ctx.Err(), err)
		}
		if err != nil { // what is announced is seen all the same
			w.log.Info().Err(err).Msg("a list of the program's accounts cannot be read; it is asked for again")
			empty = true
			continue
		}
		empty = s.empty
		select {
		case out <- s:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *Watcher) read(ctx context.Context) (snapshot, error) {
	w.mu.Lock()
	avoid := w.avoid
	w.mu.Unlock()
	s, err := read(ctx, w.o.Client, w.o.Program, w.o.Commitment, w.st.scope, avoid, w.st.same)
	if err == nil {
		err = w.plausible(ctx, s.slot)
	}
	// Later lists are hints: what is known is asked itself, and what is announced is seen meanwhile.
	first := w.Status().Snapshots == 0
	if err == nil && first && w.st.scope.All() && !w.o.Certain.IsZero() && !s.has(w.o.Certain) {
		err = fmt.Errorf("%w (%s)", errIncomplete, names(s.by))
	}
	if err != nil {
		w.avoidNext(s.by)
		return s, fmt.Errorf("snapshot: %w", err)
	}
	return s, nil
}

// avoidNext has the next list come from other endpoints, where there are any.
func (w *Watcher) avoidNext(by []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.avoid = by
}

func (w *Watcher) takeSnapshot(ctx context.Context, emit func(Event)) (snapshot, error) {
	s, err := w.read(ctx)
	if err != nil {
		return s, err
	}
	err = w.applySnapshot(s, emit)
	if errors.Is(err, errGap) && w.neverReached(ctx, s.slot) {
		w.log.Warn().Uint64("slot", w.st.maxSlot).Uint64("now", s.slot).
			Msg("an RPC endpoint has named a slot that no endpoint knows now: it is forgotten, and what is listed now counts")
		w.st.rewind(s.slot)
		err = w.applySnapshot(s, emit)
	}
	return s, err
}

func (w *Watcher) applySnapshot(s snapshot, emit func(Event)) error {
	lacks, err := w.st.applySnapshot(s, emit)
	if err != nil {
		w.avoidNext(s.by)
		return err
	}
	w.doubts.add(lacks)
	w.mu.Lock()
	w.status.Snapshots++
	w.status.LastSnapshot = time.Now()
	if !w.st.incomplete {
		w.avoid, w.incomplete = nil, 0
	}
	w.mu.Unlock()
	w.st.incomplete = false
	w.updateStatus()
	return nil
}

// applyReread takes what was read of single accounts. A list that turns out to lack some that are there is taken again.
func (w *Watcher) applyReread(r reread, emit func(Event)) error {
	if r.slot+regression < w.st.maxSlot {
		return errGap
	}
	lacks, missed := w.st.applyReread(r, emit)
	w.doubts.add(lacks)
	w.updateStatus()
	if missed == 0 {
		return nil
	}
	w.doubts.drop()
	if w.st.incomplete {
		return nil // of the same list
	}
	w.st.incomplete = true
	var by []string
	for _, d := range r.about {
		by = d.list
	}
	w.mu.Lock()
	w.avoid = by
	w.incomplete++
	w.mu.Unlock()
	w.log.Warn().Str("endpoint", names(by)).Int("missing", missed).
		Msg("the RPC endpoint answered incompletely: its list lacks accounts that are there. They stay as they are, and another list is asked for. If this is said again, give another --url")
	w.ask()
	return nil
}

// resyncGap is the least time until a snapshot may be asked for once more. It grows while lists are incomplete.
func (w *Watcher) resyncGap() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.o.ResyncGap << min(w.incomplete, 6)
}

// names lists endpoints for people.
func names(urls []string) string {
	if len(urls) == 0 {
		return "the RPC endpoint"
	}
	out := make([]string, len(urls))
	for i, u := range urls {
		out[i] = chain.NameOf(u)
	}
	return strings.Join(out, ", ")
}
