package store

import (
	"bytes"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

// Vote stores the root that the keeper is about to vote for, or to move its vote to, with the proposal that led to it.
// Errors: ErrEarly, ErrFrozen.
func (s *Store) Vote(p records.Period, root records.Hash, proposal []byte) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		if old := tx.Bucket(bucketVotes).Get(periodKey(p)); old != nil {
			have, err := boltstore.Value(bucketVotes, periodKey(p), old)
			if err != nil {
				return err
			}
			if bytes.Equal(have, root[:]) {
				return nil
			}
		}
		if p < s.FirstPeriod() {
			return ErrEarly
		}
		if err := frozen(tx); err != nil {
			return err
		}
		return errors.Join(putPromise(tx, bucketVotes, periodKey(p), root[:]), putProposal(tx, p, root, proposal))
	})
	if err != nil {
		return fmt.Errorf("vote for period %d: %w", p, err)
	}
	return nil
}

// Voted returns the root that the vote is for. Error: ErrNotFound.
func (s *Store) Voted(p records.Period) (records.Hash, error) {
	var root records.Hash
	err := s.db.View(func(tx *bolt.Tx) error {
		v, err := boltstore.Get(tx, bucketVotes, periodKey(p))
		if err == nil && len(v) != len(root) {
			err = boltstore.Damaged("vote of %d bytes", len(v))
		}
		copy(root[:], v)
		return err
	})
	return root, err
}

func proposalKey(p records.Period, root records.Hash) []byte { return append(periodKey(p), root[:]...) }

func putProposal(tx *bolt.Tx, p records.Period, root records.Hash, proposal []byte) error {
	return boltstore.Put(tx, bucketProposals, proposalKey(p, root), proposal)
}

// PutProposal keeps a proposal, such as one that became final without our vote.
func (s *Store) PutProposal(p records.Period, root records.Hash, proposal []byte) error {
	if err := s.db.Update(func(tx *bolt.Tx) error { return putProposal(tx, p, root, proposal) }); err != nil {
		return fmt.Errorf("keep proposal of period %d: %w", p, err)
	}
	return nil
}

// Proposal returns a kept proposal. Error: ErrNotFound.
func (s *Store) Proposal(p records.Period, root records.Hash) ([]byte, error) {
	var out []byte
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		out, err = boltstore.Get(tx, bucketProposals, proposalKey(p, root))
		return err
	})
	return out, err
}

// leavesMark makes the key of a leaf set from that of the proposal with its root.
const leavesMark = 1

func leavesKey(p records.Period, root records.Hash) []byte {
	return append(proposalKey(p, root), leavesMark)
}

// PutLeaves keeps the encoded leaves of a report.
func (s *Store) PutLeaves(p records.Period, root records.Hash, leaves []byte) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		return boltstore.Put(tx, bucketProposals, leavesKey(p, root), leaves)
	})
	if err != nil {
		return fmt.Errorf("keep leaves of period %d: %w", p, err)
	}
	return nil
}

// Leaves returns the encoded leaves of a report. Error: ErrNotFound.
func (s *Store) Leaves(p records.Period, root records.Hash) ([]byte, error) {
	var out []byte
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		out, err = boltstore.Get(tx, bucketProposals, leavesKey(p, root))
		return err
	})
	return out, err
}
