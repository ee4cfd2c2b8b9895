package store

import (
	"bytes"
	"fmt"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

// signedSize is a statement with its signature, in bytes.
const signedSize = records.StatementSize + 64

// decodeSigned reads an entry of one statement.
func decodeSigned(key, entry []byte) (Signed, error) {
	v, err := boltstore.Value(bucketStatements, key, entry)
	if err != nil {
		return Signed{}, err
	}
	return readSigned(v)
}

func readSigned(v []byte) (Signed, error) {
	if len(v) != signedSize {
		return Signed{}, boltstore.Damaged("statement of %d bytes", len(v))
	}
	st, err := records.DecodeStatement(v[:records.StatementSize])
	if err != nil {
		return Signed{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return Signed{st, solana.SignatureFromBytes(v[records.StatementSize:])}, nil
}

// find returns the statement with a key, whether it has an entry of its own or is packed.
func find(tx *bolt.Tx, key []byte) (Signed, bool, error) {
	if raw := tx.Bucket(bucketStatements).Get(key); raw != nil {
		have, err := decodeSigned(key, raw)
		return have, true, err
	}
	have, err := packed(tx, key)
	if err != nil || len(have) == 0 {
		return Signed{}, false, err
	}
	return have[0], true, nil
}

// Statements returns all statements of this keeper for a period.
func (s *Store) Statements(p records.Period) ([]Signed, error) { return s.statements(periodKey(p)) }

// StatementsAbout returns the statements of this keeper about one node in a period.
func (s *Store) StatementsAbout(p records.Period, node solana.PublicKey) ([]Signed, error) {
	return s.statements(append(periodKey(p), node[:]...))
}

func (s *Store) statements(prefix []byte) ([]Signed, error) {
	var out []Signed
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		if out, err = packed(tx, prefix); err != nil {
			return err
		}
		c := tx.Bucket(bucketStatements).Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			have, err := decodeSigned(k, v)
			if err != nil {
				return err
			}
			out = append(out, have)
		}
		return nil
	})
	return out, err
}
