package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/records"
)

var (
	// ErrManifest: another manifest was signed for this period before.
	ErrManifest = errors.New("another manifest was signed for this period")
	// ErrOpen: the period's statements are not declared complete, so there is nothing yet that a manifest could be about.
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

// PutManifest stores what the keeper is about to sign as the set of all its statements of a sealed period. The same again
// is fine; another is never taken, since two signed manifests of one period cost the bond. Errors: ErrManifest, ErrEarly,
// ErrOpen, ErrFrozen.
func (s *Store) PutManifest(p records.Period, ref SetRef) error {
	err := s.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketManifests)
		if raw := b.Get(periodKey(p)); raw != nil {
			have, err := unseal(raw)
			if err == nil && len(have) != setRefSize {
				err = fmt.Errorf("%w: manifest of %d bytes", ErrCorrupt, len(have))
			}
			if err == nil && !bytes.Equal(have, ref.encode()) {
				err = ErrManifest
			}
			return errors.Join(err, frozen(tx))
		}
		if p < s.FirstPeriod() {
			return ErrEarly
		}
		sealed, err := sealedUntil(tx.Bucket(bucketMeta))
		if err == nil && p >= sealed {
			err = ErrOpen
		}
		if err = errors.Join(err, frozen(tx)); err != nil {
			return err
		}
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		record := seal(ref.encode())
		all.add(bucketManifests, periodKey(p), record)
		return errors.Join(b.Put(periodKey(p), record), all.save(tx))
	})
	if err != nil {
		return fmt.Errorf("manifest of period %d: %w", p, err)
	}
	return nil
}
