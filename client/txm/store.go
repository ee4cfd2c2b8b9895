package txm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	bucketMeta    = []byte("meta")
	bucketIntents = []byte("intents")
	bucketSigs    = []byte("signatures")
	keyGenesis    = []byte("genesis")
)

// errSignatureTaken means that a transaction with the very same signature was
// signed before, for this or another intent; it must be made different, or one
// effect would stand for two.
var errSignatureTaken = errors.New("signature used before")

// Store keeps intents in a bbolt file.
type Store struct{ db *bolt.DB }

// OpenStore opens or creates the file. It belongs to one cluster: intents of
// another must never be sent here.
// Errors: ErrStoreBusy, ErrStoreCluster.
func OpenStore(path string, genesis solana.Hash) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("transaction store folder: %w", err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: %s; stop the other process or choose another state folder", ErrStoreBusy, path)
	}
	if err != nil {
		return nil, fmt.Errorf("transaction store %s: %w", path, err)
	}
	// Concurrent submissions share one sync to disk; a lone one waits little.
	db.MaxBatchDelay = time.Millisecond
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{bucketMeta, bucketIntents, bucketSigs} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		switch have := meta.Get(keyGenesis); {
		case have == nil:
			return meta.Put(keyGenesis, genesis[:])
		case !bytes.Equal(have, genesis[:]):
			return fmt.Errorf("%w: %s is of the cluster with genesis hash %s, this is %s; use another state folder for this cluster",
				ErrStoreCluster, path, solana.HashFromBytes(have), genesis)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{db: db}, nil
}

// Close syncs and releases the file.
func (s *Store) Close() error { return s.db.Close() }

// Get reads a record. Error: ErrUnknownIntent.
func (s *Store) Get(id string) (Record, error) {
	var r Record
	err := s.db.View(func(tx *bolt.Tx) error {
		raw := tx.Bucket(bucketIntents).Get([]byte(id))
		if raw == nil {
			return fmt.Errorf("%w: %s", ErrUnknownIntent, id)
		}
		return decodeRecord(raw, &r)
	})
	return r, err
}

// Records calls f for every record until it returns an error.
func (s *Store) Records(f func(Record) error) error {
	return s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketIntents).ForEach(func(_, raw []byte) error {
			var r Record
			if err := decodeRecord(raw, &r); err != nil {
				return err
			}
			return f(r)
		})
	})
}

// put writes a record.
func (s *Store) put(r Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store intent %s: %w", r.ID, err)
	}
	return s.batch(r.ID, func(tx *bolt.Tx) error {
		return tx.Bucket(bucketIntents).Put([]byte(r.ID), raw)
	})
}

// putSigned writes a record together with its new signature.
// Error: errSignatureTaken.
func (s *Store) putSigned(r Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store intent %s: %w", r.ID, err)
	}
	return s.batch(r.ID, func(tx *bolt.Tx) error {
		sigs := tx.Bucket(bucketSigs)
		if sigs.Get(r.Current.Signature[:]) != nil {
			return errSignatureTaken
		}
		if err := sigs.Put(r.Current.Signature[:], []byte(r.ID)); err != nil {
			return err
		}
		return tx.Bucket(bucketIntents).Put([]byte(r.ID), raw)
	})
}

func (s *Store) batch(id string, f func(*bolt.Tx) error) error {
	if err := s.db.Batch(f); err != nil {
		return fmt.Errorf("store intent %s: %w", id, err)
	}
	return nil
}

// Prune forgets terminal intents that have not changed since before, and their
// signatures. It returns how many.
func (s *Store) Prune(before time.Time) (int, error) {
	n := 0
	err := s.db.Update(func(tx *bolt.Tx) error {
		n = 0
		drop := map[string]bool{}
		intents, sigs := tx.Bucket(bucketIntents), tx.Bucket(bucketSigs)
		if err := intents.ForEach(func(k, raw []byte) error {
			var r Record
			if err := decodeRecord(raw, &r); err != nil {
				return err
			}
			if r.State.Terminal() && r.Updated.Before(before) {
				drop[string(k)] = true
			}
			return nil
		}); err != nil || len(drop) == 0 {
			return err
		}
		var old [][]byte
		if err := sigs.ForEach(func(k, id []byte) error {
			if drop[string(id)] {
				old = append(old, bytes.Clone(k))
			}
			return nil
		}); err != nil {
			return err
		}
		for _, k := range old {
			if err := sigs.Delete(k); err != nil {
				return err
			}
		}
		for id := range drop {
			if err := intents.Delete([]byte(id)); err != nil {
				return err
			}
		}
		n = len(drop)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("prune transaction store: %w", err)
	}
	return n, nil
}

func decodeRecord(raw []byte, r *Record) error {
	if err := json.Unmarshal(raw, r); err != nil {
		return fmt.Errorf("transaction store: damaged record: %w", err)
	}
	if r.Version != recordVersion {
		return fmt.Errorf("transaction store: intent %s has format %d, this version reads %d", r.ID, r.Version, recordVersion)
	}
	return nil
}
