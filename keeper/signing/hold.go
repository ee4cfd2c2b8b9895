package signing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrHold: another keeper has the hold, so that this one is answered nothing.
var ErrHold = errors.New("another keeper has the signer's hold")

// Holder names one run of a keeper; it is drawn at the start.
type Holder [16]byte

// String is the holder in hex.
func (h Holder) String() string { return hex.EncodeToString(h[:]) }

// hold is which keeper the signer answers. It passes to another when the holder gives it back, or is not heard for ttl.
type hold struct {
	ttl time.Duration
	now func() time.Time // with a monotonic reading

	// mu is held for reading while a request of the holder runs, and for writing while the hold passes on: what was
	// begun for one keeper is over before another is answered.
	mu     sync.RWMutex
	holder Holder
	taken  bool

	seen struct { // on its own lock, since requests that run beside each other write it
		sync.Mutex
		at time.Time
	}
	// grace is when the first hold after a start may go to a keeper that did not have it.
	grace time.Time
}

func newHold(ttl time.Duration, now func() time.Time) *hold {
	return &hold{ttl: ttl, now: now, grace: now().Add(ttl)}
}

func (h *hold) touch() {
	h.seen.Lock()
	h.seen.at = h.now()
	h.seen.Unlock()
}

func (h *hold) lapsed() bool {
	h.seen.Lock()
	defer h.seen.Unlock()
	return h.now().Sub(h.seen.at) >= h.ttl
}

// take gives the hold to a keeper, or renews it, when no other one has it. had says that the keeper had it when it last
// spoke to a signer: after the signer's restart such a one comes first.
func (h *hold) take(by Holder, had bool) bool {
	h.mu.RLock()
	if h.taken && h.holder == by {
		h.touch()
		h.mu.RUnlock()
		return true
	}
	h.mu.RUnlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.taken && h.holder != by && !h.lapsed():
		return false
	case !h.taken && !had && h.now().Before(h.grace):
		return false
	}
	h.holder, h.taken = by, true
	h.touch()
	return true
}

// release gives the hold back.
func (h *hold) release(by Holder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken && h.holder == by {
		// The next one is a keeper that did not have it, and there is nothing to wait for.
		h.taken, h.grace = false, h.now()
	}
}

// do runs a request of the holder. Error: ErrHold.
func (h *hold) do(by Holder, f func() error) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if !h.taken || h.holder != by {
		return fmt.Errorf("%w: this one is %s", ErrHold, by)
	}
	h.touch()
	return f()
}
