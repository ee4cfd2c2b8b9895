package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/chain"
)

// plausible makes sure that a slot which is far ahead of what was seen is one that the cluster has reached: by the middle
// one of what the endpoints say, the higher one of two. The lower one of two may be of a node that lags.
func (w *Watcher) plausible(ctx context.Context, slot uint64) error {
	if slot <= w.Status().Slot+apart {
		return nil
	}
	all, err := w.o.Client.Slots(ctx, chain.Processed)
	if re := (*chain.RPCError)(nil); errors.As(err, &re) {
		return nil // an endpoint without this method
	}
	if err != nil {
		return err
	}
	if here := all[len(all)/2].Slot; slot > here+apart {
		return fmt.Errorf("%w: %d, it is at %d", errSlot, slot, here)
	}
	return nil
}

// below is since when most endpoints have named slots far below one that was seen.
type below struct {
	since, last time.Time
	slot        uint64 // at first
}

// belowPause is the longest time between two looks that belong together.
const belowPause = 30 * time.Second

// neverReached reports whether the highest slot that was seen is one that the cluster never reached, and a list of this
// slot is of its present state. An endpoint that lied may be away by now, and all that the others say would be refused
// for good.
//
// Most endpoints that answer must be below. Two that agree are believed at once where none contradicts; one alone, or
// against another, when it has been so for a while and the slots grow: a node that hangs, or lags and catches up, brings
// nothing back.
func (w *Watcher) neverReached(ctx context.Context, slot uint64) bool {
	all, err := w.o.Client.Slots(ctx, chain.Processed)
	if err != nil {
		return false
	}
	low := 0
	for _, s := range all {
		if s.Slot+regression < w.st.maxSlot {
			low++
		}
	}
	now := time.Now()
	if 2*low <= len(all) || all[low-1].Slot > all[0].Slot+apart || all[low-1].Slot > slot+apart || slot > all[low-1].Slot+apart {
		w.below = below{}
		return false
	}
	if low >= 2 && low == len(all) {
		w.below = below{}
		return true
	}
	if w.below.since.IsZero() || now.Sub(w.below.last) > belowPause {
		w.below = below{since: now, slot: all[0].Slot}
	}
	w.below.last = now
	if now.Sub(w.below.since) < w.o.SoleWord || all[0].Slot <= w.below.slot {
		return false
	}
	w.below = below{}
	return true
}
