package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// workKey sorts by period, then seed: several keepers may ask in one period.
func workKey(period uint64, seed Key) []byte {
	k := make([]byte, 0, 40)
	k = binary.BigEndian.AppendUint64(k, period)
	return append(k, seed[:]...)
}

// PutWork stores a work claim before it is sent. Two different roots for one
// seed and order are a proof against the node, so the second is refused with ErrExists.
func (s *Store) PutWork(w Work) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		key := workKey(w.Period, w.Seed)
		var old Work
		err := get(tx, bucketWork, key, &old)
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
		return put(tx, bucketWork, key, w)
	})
}

// Work returns the work claim for a period and seed, or ErrNotFound.
func (s *Store) Work(period uint64, seed Key) (Work, error) {
	var w Work
	err := s.db.View(func(tx *bolt.Tx) error {
		return get(tx, bucketWork, workKey(period, seed), &w)
	})
	return w, err
}

// PruneWork removes work claims of periods before the given one and returns how
// many there were.
func (s *Store) PruneWork(before uint64) (int, error) {
	removed := 0
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		removed, err = boltstore.DeleteBelow(tx.Bucket(bucketWork), binary.BigEndian.AppendUint64(nil, before), nil)
		return err
	})
	return removed, err
}
