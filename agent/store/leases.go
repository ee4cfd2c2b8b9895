package store

import (
	"errors"
	"fmt"
	"reflect"
	"sort"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// AddLease stores a lease that was awarded to the node. Storing the same one again changes nothing and returns what is
// stored.
func (s *Store) AddLease(l Lease) (Lease, error) {
	l.State = Awarded
	err := s.db.Update(func(tx *bolt.Tx) error {
		var old Lease
		err := get(tx, bucketLeases, l.Address[:], &old)
		if err == nil {
			if old.Order != l.Order || old.Customer != l.Customer || old.Node != l.Node {
				return fmt.Errorf("%w: lease %x", ErrExists, l.Address)
			}
			l = old
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		l.History = []Step{{State: Awarded, At: s.now().UTC()}}
		return put(tx, bucketLeases, l.Address[:], l)
	})
	return l, err
}

// Lease returns one lease, or ErrNotFound.
func (s *Store) Lease(address Key) (Lease, error) {
	var l Lease
	err := s.db.View(func(tx *bolt.Tx) error {
		return get(tx, bucketLeases, address[:], &l)
	})
	return l, err
}

// Leases returns the leases in the given states, or all, by time of award.
func (s *Store) Leases(states ...State) ([]Lease, error) {
	want := make(map[State]bool, len(states))
	for _, st := range states {
		want[st] = true
	}
	var out []Lease
	err := s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketLeases).ForEach(func(k, raw []byte) error {
			var l Lease
			if err := boltstore.ValueJSON(bucketLeases, k, raw, &l); err != nil {
				return err
			}
			if len(want) == 0 || want[l.State] {
				out = append(out, l)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].AwardedAt.Before(out[j].AwardedAt) })
	return out, nil
}

// Advance moves a lease to a state, after change (which may be nil) has edited it, in one transaction. Staying in the
// same state is allowed, so a repeated step after a crash is harmless; a step back is ErrTransition.
func (s *Store) Advance(address Key, to State, change func(*Lease) error) (Lease, error) {
	var l Lease
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := get(tx, bucketLeases, address[:], &l); err != nil {
			return err
		}
		from, history := l.State, l.History
		if !from.CanBecome(to) {
			return fmt.Errorf("%w: %x is %s, cannot become %s", ErrTransition, address, from, to)
		}
		before := l
		if change != nil {
			if err := change(&l); err != nil {
				return err
			}
		}
		l.Address, l.Order, l.Customer, l.Node = before.Address, before.Order, before.Customer, before.Node
		l.State, l.History = to, history
		if from != to {
			l.History = append(l.History, Step{State: to, At: s.now().UTC()})
		} else if reflect.DeepEqual(before, l) {
			return nil
		}
		return put(tx, bucketLeases, address[:], l)
	})
	return l, err
}

// TakeUp puts a lease that is stored as over back into a state in which it is not, after change has edited it: the
// chain shows finally that it was taken for over by mistake. Error: ErrTransition for one that is not over.
func (s *Store) TakeUp(address Key, to State, change func(*Lease)) (Lease, error) {
	var l Lease
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := get(tx, bucketLeases, address[:], &l); err != nil {
			return err
		}
		if l.State.Live() || !to.Live() {
			return fmt.Errorf("%w: %x is %s, cannot be taken up as %s", ErrTransition, address, l.State, to)
		}
		before := l
		change(&l)
		l.Address, l.Order, l.Customer, l.Node = before.Address, before.Order, before.Customer, before.Node
		l.State, l.History = to, append(before.History, Step{State: to, At: s.now().UTC()})
		return put(tx, bucketLeases, address[:], l)
	})
	return l, err
}

// Update edits a lease without changing its state.
func (s *Store) Update(address Key, change func(*Lease) error) (Lease, error) {
	var l Lease
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := get(tx, bucketLeases, address[:], &l); err != nil {
			return err
		}
		before := l
		if err := change(&l); err != nil {
			return err
		}
		l.Address, l.Order, l.Customer, l.Node = before.Address, before.Order, before.Customer, before.Node
		l.State, l.History = before.State, before.History
		return put(tx, bucketLeases, address[:], l)
	})
	return l, err
}

// RemoveLease removes a closed lease and its receipts.
func (s *Store) RemoveLease(address Key) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketLeases)
		var l Lease
		if err := get(tx, bucketLeases, address[:], &l); err != nil {
			return err
		}
		if l.State != Closed {
			return fmt.Errorf("%w: %x is %s, only closed leases are removed", ErrTransition, address, l.State)
		}
		if err := b.Delete(address[:]); err != nil {
			return fmt.Errorf("remove lease: %w", err)
		}
		if err := tx.Bucket(bucketReceipts).Delete(address[:]); err != nil {
			return fmt.Errorf("remove receipt: %w", err)
		}
		return nil
	})
}
