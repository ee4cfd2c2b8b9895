package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// PutProof keeps a proof against somebody until it has done its work, whatever is killed meanwhile. One of the same
// name is replaced.
func (s *Store) PutProof(name string, proof []byte) error {
	if name == "" {
		return errors.New("keep proof: it has no name")
	}
	err := s.update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketProofs)
		if err != nil {
			return err
		}
		return b.Put([]byte(name), seal(proof))
	})
	if err != nil {
		return fmt.Errorf("keep proof %s: %w", name, err)
	}
	return nil
}

// DropProof forgets a proof; one that is not there is no error.
func (s *Store) DropProof(name string) error {
	err := s.update(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketProofs); b != nil {
			return b.Delete([]byte(name))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop proof %s: %w", name, err)
	}
	return nil
}

// Proofs returns all proofs that are kept, by name.
func (s *Store) Proofs() (map[string][]byte, error) {
	out := map[string][]byte{}
	err := s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketProofs)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			proof, err := unseal(v)
			out[string(k)] = proof
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read proofs: %w", err)
	}
	return out, nil
}
