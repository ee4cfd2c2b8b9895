package grants

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// stored is a grant as it came from its customer.
type stored struct {
	messages.SignedGrant
	// Order of the lease. Moves is the signature over the same grant with the order's address in the place of the lease's,
	// for the leases that keepers create for the rest of a failed one; empty where none was given.
	Order solana.PublicKey `cbor:"4,keyasint"`
	Moves []byte           `cbor:"5,keyasint,omitempty"`
}

// next is the grant for leases that go on.
func (s *stored) next() messages.SignedGrant {
	out := s.SignedGrant
	out.Grant.Lease = s.Order
	copy(out.Signature[:], s.Moves)
	return out
}

// verifyMoves checks the signature for leases that go on, if there is one.
func (s *stored) verifyMoves() error {
	if len(s.Moves) == 0 {
		return nil
	}
	if len(s.Moves) != len(s.Signature) {
		return errors.New("it is not a signature")
	}
	next := s.next()
	return next.Verify()
}

// shownFor is what the node of a lease is shown.
func (s *stored) shownFor(lease solana.PublicKey) messages.SignedGrant {
	if lease == s.Grant.Lease {
		return s.SignedGrant
	}
	return s.next()
}

// tail stays with the order where the lease may move.
func (s *stored) tail() string {
	if len(s.Moves) > 0 {
		return tailOf(s.Order)
	}
	return tailOf(s.Grant.Lease)
}

// lostTime is how long a lease that goes on may be missing from what the chain's servers show, which need not be of the
// same moment: one transaction ends the failed lease and creates the next.
const lostTime = 15 * time.Second

// mayMove reports whether a lease that does not run may go on as another one, or waits for its start there.
func (s *stored) mayMove(f Facts) bool {
	l := &f.Lease
	switch {
	case len(s.Moves) == 0:
		return false
	case !f.Found || l.CanMigrate():
		return true
	case l.Continues == 1 && l.State() == market.LeaseAwarded:
		return true
	}
	return l.State() == market.LeaseEnded && l.Reason() == market.EndedFailed && l.MayMigrate == 1
}

// whereNow finds the lease that a grant reaches now, from what the chain says of the one that it reached. waits: that
// one does not run yet. Error: *RefusedError, if there is none.
func (t *Table) whereNow(ctx context.Context, s *stored, at solana.PublicKey, f Facts) (lease solana.PublicKey, l market.Lease, waits bool, err error) {
	over := holds(f)
	if over == nil || !s.mayMove(f) {
		return at, f.Lease, false, over
	}
	leases, err := t.o.Leases(ctx, s.Order)
	if err != nil {
		return at, f.Lease, false, err
	}
	for _, l := range leases {
		if l.Continues == 0 || l.State() > market.LeaseRunning {
			continue
		}
		if l.State() == market.LeaseAwarded {
			return l.Address, l, true, nil
		}
		facts, err := t.o.Chain(ctx, []Question{{l.Address, s.Signer}})
		if err == nil {
			err = holds(facts[0])
		}
		return l.Address, l, false, err
	}
	if f.Found && f.Lease.CanMigrate() {
		return at, f.Lease, true, nil
	}
	return at, f.Lease, false, refuse("the lease's machine has failed, and no other continues it")
}

// follow ends a grant that does not hold any more, or has it reach the lease that goes on.
func (t *Table) follow(ctx context.Context, e *Entry, f Facts, now time.Time) error {
	lease, l, waits, err := t.whereNow(ctx, &e.came, e.lease, f)
	var refused *RefusedError
	if errors.As(err, &refused) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if e.lost.IsZero() {
			e.lost = now
		}
		if e.came.mayMove(f) && now.Sub(e.lost) < lostTime {
			return nil
		}
		return t.drop(e, refused.Why)
	}
	if err != nil {
		return err
	}
	if lease == e.lease && waits == e.Moving {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.lost = time.Time{}
		return nil
	}
	moved := t.entryOf(e.came, lease, l, waits)
	if taken, err := t.put(moved, e); !taken {
		moved.end()
		return err
	}
	t.o.Log.Info().Str("from", e.lease.String()).Str("to", lease.String()).Bool("waits", waits).Msg("lease moves to another machine")
	return nil
}
