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

// PutRound stores the hash of the proposal that the keeper is about to sign for a round of a period. The same again is
// fine. Errors: ErrProposal, ErrEarly, ErrFrozen.
func (s *Store) PutRound(p records.Period, round uint32, proposal records.Hash) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := frozen(tx); err != nil {
			return err
		}
		if p < s.FirstPeriod() {
			return ErrEarly
		}
		key := binary.BigEndian.AppendUint32(periodKey(p), round)
		if done, err := same(tx, bucketRounds, key, proposal[:], ErrProposal); done || err != nil {
			return err
		}
		return putPromise(tx, bucketRounds, key, proposal[:])
	})
	if err != nil {
		return fmt.Errorf("proposal of round %d of period %d: %w", round, p, err)
	}
	return nil
}

// PutHead stores which bids the keeper is about to sign as those of an auction, by their number and root. It may judge
// the same bids again. Errors: ErrBidSet, ErrFrozen.
func (s *Store) PutHead(a AuctionKey, count uint32, root records.Hash) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := frozen(tx); err != nil {
			return err
		}
		value := append(binary.BigEndian.AppendUint32(nil, count), root[:]...)
		if done, err := same(tx, bucketHeads, a.bytes(), value, ErrBidSet); done || err != nil {
			return err
		}
		return errors.Join(boltstore.Put(tx, bucketHeads, a.bytes(), value), bump(tx))
	})
	if err != nil {
		return fmt.Errorf("bid set of order %s: %w", a.Order, err)
	}
	return nil
}

// same reports whether an entry is there already. Error: other, when it has another value.
func same(tx *bolt.Tx, bucket, key, value []byte, other error) (bool, error) {
	have, err := boltstore.Get(tx, bucket, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(have, value):
		return false, other
	}
	return true, nil
}

// Position is how much has been written to a file. Of two copies of one file, the one with the lower sequence is the
// older.
type Position struct {
	File     [16]byte // drawn when the file was made
	Sequence uint64
}

// Position of this file.
func (s *Store) Position() (p Position, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		id, err := boltstore.Get(tx, bucketMeta, keyFile)
		if err == nil && len(id) != len(p.File) {
			err = boltstore.Damaged("file id of %d bytes", len(id))
		}
		if err != nil {
			return err
		}
		p = Position{[16]byte(id), all.sequence}
		return nil
	})
	return p, err
}
