package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// workClaimKey sorts by period, then seed: several keepers may ask in one period.
func workClaimKey(period uint64, seed Key) []byte {
	k := make([]byte, 0, 40)
	k = binary.BigEndian.AppendUint64(k, period)
	return append(k, seed[:]...)
}

// PutWorkClaim stores a work claim before it is sent. Two different roots for one seed and order would prove the node
// wrong, so the second is refused with ErrExists.
func (s *Store) PutWorkClaim(w WorkClaim) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		key := workClaimKey(w.Period, w.Seed)
		var old WorkClaim
		err := get(tx, bucketWorkClaims, key, &old)
		switch {
		case err == nil && (old.Root != w.Root || old.N != w.N):
			return fmt.Errorf("%w: period %d, seed %x", ErrExists, w.Period, w.Seed)
		case err == nil:
			return nil
		case !errors.Is(err, ErrNotFound):
			return err
		}
		if w.At.IsZero() {
			w.At = s.now().UTC()
		}
		return put(tx, bucketWorkClaims, key, w)
	})
}

// WorkClaim returns the claim for a period and seed, or ErrNotFound.
func (s *Store) WorkClaim(period uint64, seed Key) (WorkClaim, error) {
	var w WorkClaim
	err := s.db.View(func(tx *bolt.Tx) error {
		return get(tx, bucketWorkClaims, workClaimKey(period, seed), &w)
	})
	return w, err
}

// PruneWorkClaims removes claims of periods before the given one and returns how many there were.
func (s *Store) PruneWorkClaims(before uint64) (int, error) {
	removed := 0
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		removed, err = boltstore.DeleteBelow(tx.Bucket(bucketWorkClaims), binary.BigEndian.AppendUint64(nil, before), nil)
		return err
	})
	return removed, err
}
