package lease

import (
	"context"
	"errors"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// A process that stood still, with its machine or alone, does not notice that: what it knows of the chain is from before,
// and its lease may have moved. One that was cut off is not asked by keepers, who ask about leases that may move every two
// seconds. Both read the lease from the chain before they go on.
const (
	// stoodStill is how much longer than intended a wait takes when the process stood still.
	stoodStill = 3 * time.Second
	// notAsked is for how long no keeper has asked a node that may be cut off.
	notAsked = 5 * time.Second
	// lookEvery is how often the chain is read then, lookTimeout how long that may take.
	lookEvery   = 2 * time.Second
	lookTimeout = 3 * time.Second
)

// errBlind: the process stood still, and what has become of the lease is not known yet.
var errBlind = errors.New("the agent stood still, and cannot read its lease from the chain yet")

// sight is when a worker looked around last, by the machine's date: the monotonic clock stands still with the machine. A
// date that was set has the worker look at the chain once more, which does no harm.
type sight struct {
	until   time.Time // when the worker is to go on at the latest
	looked  time.Time // when it last tried to read the chain
	pending bool      // it stood still and has not read the chain since
}

// rests notes that the worker waits, or acts, for so long at most.
func (s *sight) rests(now time.Time, atMost time.Duration) { s.until = now.Round(0).Add(atMost) }

// look reads the lease from the chain where what is known of it may be old. Error: errBlind.
func (w *worker) look(ctx context.Context) error {
	now := w.m.o.Machine().Round(0)
	s := &w.sight
	if !s.until.IsZero() && now.Sub(s.until) > stoodStill {
		w.log.Warn().Dur("for", now.Sub(s.until)).Msg("the agent stood still; it looks at the chain before it continues with the lease")
		s.pending, s.looked = true, time.Time{}
	}
	known, _ := w.m.o.Chain.Lease(w.address)
	cutOff := known.State() == market.LeaseRunning && known.MayMigrate == 1 && w.m.o.Asked != nil && now.Sub(w.m.o.Asked()).Abs() > notAsked // a date that was set back counts as well
	if !s.pending && !cutOff {
		return nil
	}
	if now.Sub(s.looked).Abs() >= lookEvery {
		s.looked = now
		lctx, cancel := context.WithTimeout(ctx, lookTimeout)
		err := w.m.o.Chain.Look(lctx, w.address)
		cancel()
		if err == nil {
			s.pending = false
			return nil
		}
		w.log.Debug().Err(err).Msg("the lease cannot be read from the chain")
	}
	if !s.pending {
		return nil // the job goes on: nothing says that the lease does not
	}
	return errBlind
}
