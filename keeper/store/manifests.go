package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	// ErrManifest: another manifest was signed for this period before.
	ErrManifest = errors.New("another manifest was signed for this period")
	// ErrOpen: the period's statements are not declared complete, so there is nothing yet that a manifest could be
	// about.
	ErrOpen = errors.New("period is not sealed")
)

// SetRef is what a manifest says of the set of a period's statements.
type SetRef struct {
	Count  uint32 // statements
	Size   uint32 // bytes
	Digest [32]byte
}

// setRefSize is count u32 ‖ size u32 ‖ digest, big-endian.
const setRefSize = 4 + 4 + 32

func (r SetRef) encode() []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, setRefSize), r.Count)
	return append(binary.BigEndian.AppendUint32(b, r.Size), r.Digest[:]...)
}

// PutManifest stores what the keeper is about to sign as the set of all its statements of a sealed period. The same
// again is fine; another is never taken, since two signed manifests of one period cost the bond. Errors: ErrManifest,
// ErrEarly, ErrOpen, ErrFrozen.
func (s *Store) PutManifest(p records.Period, ref SetRef) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketManifests)
		if raw := b.Get(periodKey(p)); raw != nil {
			have, err := boltstore.Value(bucketManifests, periodKey(p), raw)
			if err == nil && len(have) != setRefSize {
				err = boltstore.Damaged("manifest of %d bytes", len(have))
			}
			if err == nil && !bytes.Equal(have, ref.encode()) {
				err = ErrManifest
			}
			return errors.Join(err, frozen(tx))
		}
		if p < s.FirstPeriod() {
			return ErrEarly
		}
		sealed, err := sealedUntil(tx)
		if err == nil && p >= sealed {
			err = ErrOpen
		}
		if err = errors.Join(err, frozen(tx)); err != nil {
			return err
		}
		return putPromise(tx, bucketManifests, periodKey(p), ref.encode())
	})
	if err != nil {
		return fmt.Errorf("manifest of period %d: %w", p, err)
	}
	return nil
}
