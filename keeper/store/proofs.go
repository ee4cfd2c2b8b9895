package store

import (
	"bytes"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// PutProof keeps a proof until the chain has it, also over a crash. One of the same name is replaced.
func (s *Store) PutProof(name string, proof []byte) error {
	if name == "" {
		return errors.New("keep proof: it has no name")
	}
	err := s.db.Update(func(tx *bolt.Tx) error {
		return boltstore.Put(tx, bucketProofs, []byte(name), proof)
	})
	if err != nil {
		return fmt.Errorf("keep proof %s: %w", name, err)
	}
	return nil
}

// DropProof forgets a proof; one that is not there is no error.
func (s *Store) DropProof(name string) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketProofs).Delete([]byte(name))
	})
	if err != nil {
		return fmt.Errorf("drop proof %s: %w", name, err)
	}
	return nil
}

// Proofs returns all proofs that are kept, by name.
func (s *Store) Proofs() (map[string][]byte, error) {
	out := map[string][]byte{}
	err := s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketProofs).ForEach(func(k, v []byte) error {
			proof, err := boltstore.Value(bucketProofs, k, v)
			out[string(k)] = bytes.Clone(proof)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read proofs: %w", err)
	}
	return out, nil
}
