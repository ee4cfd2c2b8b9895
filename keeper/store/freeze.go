package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

// ErrFrozen: signing was stopped for good, because a duplicate signer uses the keeper's wallet, or because the file is
// older than what the keeper has signed.
var ErrFrozen = errors.New("this store signs nothing any more")

var keyFrozen = []byte("frozen")

// Freeze stops all signing with this file, also after a restart. The first reason stays.
func (s *Store) Freeze(why string) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta).Get(keyFrozen) != nil {
			return nil
		}
		return boltstore.Put(tx, bucketMeta, keyFrozen, []byte(why))
	})
	if err != nil {
		return fmt.Errorf("stop signing: %w", err)
	}
	return nil
}

// Frozen returns ErrFrozen with the reason, or nil.
func (s *Store) Frozen() error { return s.db.View(frozen) }

func frozen(tx *bolt.Tx) error {
	switch why, err := boltstore.Get(tx, bucketMeta, keyFrozen); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%w: %s", ErrFrozen, why)
	}
}

// LastVote returns the last period that was voted for; false when there is none.
func (s *Store) LastVote() (p records.Period, ok bool, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		k, _ := tx.Bucket(bucketVotes).Cursor().Last()
		if k != nil {
			p, ok = periodOf(k), true
		}
		return nil
	})
	return p, ok, err
}

// Knows reports whether a statement was signed with this file. A statement of a period before FirstPeriod may have been
// signed with an earlier one: it counts as known.
func (s *Store) Knows(st records.CheckStatement) (known bool, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		if st.Period < s.FirstPeriod() {
			known = true
			return nil
		}
		have, ok, err := find(tx, statementKey(st))
		known = ok && have.Statement == st
		return err
	})
	return known, err
}
