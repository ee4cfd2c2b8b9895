package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/records"
)

// Signed is a statement of this keeper with its signature.
type Signed struct {
	Statement records.CheckStatement
	Signature solana.Signature
}

// statementKey is what a statement is about: two different ones with the same key contradict each other.
func statementKey(s records.CheckStatement) []byte { return appendKey(make([]byte, 0, keySize), s) }

const keySize = 8 + 32 + 32 + 1 + 8

func appendKey(k []byte, s records.CheckStatement) []byte {
	k = binary.BigEndian.AppendUint64(k, uint64(s.Period))
	k = append(k, s.Node[:]...)
	k = append(k, s.Lease[:]...)
	k = append(k, byte(s.Kind))
	return binary.BigEndian.AppendUint64(k, uint64(s.CheckedAt))
}

// Refusal says why a statement was not signed.
type Refusal struct {
	Statement records.CheckStatement
	Err       error // ErrContradiction, ErrSealed or ErrEarly
}

// Sign stores the statements that contradict nothing and returns them with their signatures; the others come back as
// refusals. A statement that was signed before comes back with the signature it had. Nothing of what is returned is
// lost after the call. Error: ErrFrozen, or that the file cannot be written.
func (s *Store) Sign(statements []records.CheckStatement, sign func(records.CheckStatement) (solana.Signature, error)) ([]Signed, []Refusal, error) {
	var out []Signed
	var refused []Refusal
	err := s.update(func(tx *bolt.Tx) error {
		out, refused = nil, nil
		b, meta := tx.Bucket(bucketStatements), tx.Bucket(bucketMeta)
		sealed, err := sealedUntil(meta)
		if err == nil {
			err = frozen(tx)
		}
		if err != nil {
			return err
		}
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		for _, st := range statements {
			key, enc := statementKey(st), st.Encode()
			have, found, err := find(tx, key)
			if err != nil {
				return err
			}
			if found {
				if have.Statement != st {
					refused = append(refused, Refusal{st, ErrContradiction})
				} else {
					out = append(out, have)
				}
				continue
			}
			if st.Period < s.FirstPeriod() {
				refused = append(refused, Refusal{st, ErrEarly})
				continue
			}
			if st.Period < sealed {
				refused = append(refused, Refusal{st, ErrSealed})
				continue
			}
			sig, err := sign(st)
			if err != nil {
				return err
			}
			record := seal(append(enc[:], sig[:]...))
			if err := b.Put(key, record); err != nil {
				return err
			}
			all.add(bucketStatements, key, record)
			out = append(out, Signed{st, sig})
		}
		return all.save(tx)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("sign statements: %w", err)
	}
	return out, refused, nil
}

// sealedUntil returns the first period that is not sealed.
func sealedUntil(meta *bolt.Bucket) (records.Period, error) {
	if meta.Get(keySealed) == nil {
		return 0, nil
	}
	n, err := getNumber(meta, keySealed)
	return records.Period(n), err
}

// Seal declares the statements of all periods up to p complete.
func (s *Store) Seal(p records.Period) error {
	err := s.update(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		have, err := sealedUntil(meta)
		if err != nil || have > p {
			return err
		}
		return meta.Put(keySealed, seal(number(uint64(p)+1)))
	})
	if err != nil {
		return fmt.Errorf("seal period %d: %w", p, err)
	}
	return nil
}

// Sealed returns the first period whose statements are not declared complete.
func (s *Store) Sealed() (records.Period, error) {
	var p records.Period
	err := s.view(func(tx *bolt.Tx) (err error) {
		p, err = sealedUntil(tx.Bucket(bucketMeta))
		return err
	})
	return p, err
}

// Vote stores the root that the keeper is about to vote for, or to move its vote to, with the proposal that led to it.
// Errors: ErrEarly, ErrFrozen.
func (s *Store) Vote(p records.Period, root records.Hash, proposal []byte) error {
	err := s.update(func(tx *bolt.Tx) error {
		votes := tx.Bucket(bucketVotes)
		old := bytes.Clone(votes.Get(periodKey(p)))
		if old != nil {
			have, err := unseal(old)
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
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		if old != nil {
			all.drop(bucketVotes, periodKey(p), old)
		}
		if err := votes.Put(periodKey(p), seal(root[:])); err != nil {
			return err
		}
		all.add(bucketVotes, periodKey(p), seal(root[:]))
		return errors.Join(all.save(tx), putProposal(tx, p, root, proposal))
	})
	if err != nil {
		return fmt.Errorf("vote for period %d: %w", p, err)
	}
	return nil
}

// Voted returns the root that the vote is for. Error: ErrNotFound.
func (s *Store) Voted(p records.Period) (records.Hash, error) {
	var root records.Hash
	err := s.view(func(tx *bolt.Tx) error {
		raw := tx.Bucket(bucketVotes).Get(periodKey(p))
		if raw == nil {
			return ErrNotFound
		}
		v, err := unseal(raw)
		if err == nil && len(v) != len(root) {
			err = fmt.Errorf("%w: vote of %d bytes", ErrCorrupt, len(v))
		}
		copy(root[:], v)
		return err
	})
	return root, err
}

func proposalKey(p records.Period, root records.Hash) []byte { return append(periodKey(p), root[:]...) }

func putProposal(tx *bolt.Tx, p records.Period, root records.Hash, proposal []byte) error {
	return tx.Bucket(bucketProposals).Put(proposalKey(p, root), seal(proposal))
}

// PutProposal keeps a proposal, such as one that became final without our vote.
func (s *Store) PutProposal(p records.Period, root records.Hash, proposal []byte) error {
	if err := s.update(func(tx *bolt.Tx) error { return putProposal(tx, p, root, proposal) }); err != nil {
		return fmt.Errorf("keep proposal of period %d: %w", p, err)
	}
	return nil
}

// Proposal returns a kept proposal. Error: ErrNotFound.
func (s *Store) Proposal(p records.Period, root records.Hash) ([]byte, error) {
	var out []byte
	err := s.view(func(tx *bolt.Tx) (err error) {
		raw := tx.Bucket(bucketProposals).Get(proposalKey(p, root))
		if raw == nil {
			return ErrNotFound
		}
		out, err = unseal(raw)
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
	err := s.update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketProposals).Put(leavesKey(p, root), seal(leaves))
	})
	if err != nil {
		return fmt.Errorf("keep leaves of period %d: %w", p, err)
	}
	return nil
}

// Leaves returns the encoded leaves of a report. Error: ErrNotFound.
func (s *Store) Leaves(p records.Period, root records.Hash) ([]byte, error) {
	var out []byte
	err := s.view(func(tx *bolt.Tx) (err error) {
		raw := tx.Bucket(bucketProposals).Get(leavesKey(p, root))
		if raw == nil {
			return ErrNotFound
		}
		out, err = unseal(raw)
		return err
	})
	return out, err
}

// IsDamage reports whether an error means that nothing can be signed with the store any more.
func IsDamage(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFrozen) }
