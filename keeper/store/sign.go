package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
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
	Err       error // ErrConflict, ErrSealed or ErrEarly
}

// Sign stores the statements that contradict nothing and returns them with their signatures; the others come back as
// refusals. A statement that was signed before comes back with the signature it had. Nothing of what is returned is
// lost after the call. Error: ErrFrozen, or that the file cannot be written.
func (s *Store) Sign(statements []records.CheckStatement, sign func(records.CheckStatement) (solana.Signature, error)) ([]Signed, []Refusal, error) {
	var out []Signed
	var refused []Refusal
	err := s.db.Update(func(tx *bolt.Tx) error {
		out, refused = nil, nil
		b := tx.Bucket(bucketStatements)
		sealed, err := sealedUntil(tx)
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
					refused = append(refused, Refusal{st, ErrConflict})
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
			entry := boltstore.Entry(bucketStatements, key, append(enc[:], sig[:]...))
			if err := b.Put(key, entry); err != nil {
				return err
			}
			all.add(bucketStatements, key, entry)
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
func sealedUntil(tx *bolt.Tx) (records.Period, error) {
	n, err := getNumber(tx, keySealed)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return records.Period(n), err
}

// Seal declares the statements of all periods up to p complete.
func (s *Store) Seal(p records.Period) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		have, err := sealedUntil(tx)
		if err != nil || have > p {
			return err
		}
		return putNumber(tx, keySealed, uint64(p)+1)
	})
	if err != nil {
		return fmt.Errorf("seal period %d: %w", p, err)
	}
	return nil
}

// Sealed returns the first period whose statements are not declared complete.
func (s *Store) Sealed() (records.Period, error) {
	var p records.Period
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		p, err = sealedUntil(tx)
		return err
	})
	return p, err
}

// IsDamage reports whether an error means that nothing can be signed with the store any more.
func IsDamage(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFrozen) }
