package txm

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// schema is the layout of the file.
const schema = 1

var (
	bucketIntents = []byte("intents")
	bucketSigs    = []byte("signatures")
)

// errSignatureTaken means that a transaction with the very same signature was signed before, for this or another
// intent; it must be made different, or one effect would stand for two.
var errSignatureTaken = errors.New("signature used before")

// Store keeps intents in a file.
type Store struct{ db *boltstore.DB }

// OpenStore opens or creates the file. It belongs to one cluster: intents of another must never be sent here.
// Errors: ErrStoreBusy, ErrStoreCluster, boltstore.ErrCorrupt, boltstore.ErrSchema.
func OpenStore(path string, genesis solana.Hash) (*Store, error) {
	return openStore(path, genesis, false)
}

func openStore(path string, genesis solana.Hash, noSync bool) (*Store, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "transaction store", Schema: schema, Owner: genesis[:], Buckets: [][]byte{bucketIntents, bucketSigs},
		DescribeOwner: func(genesis []byte) string {
			return fmt.Sprintf("the cluster with genesis hash %s", solana.HashFromBytes(genesis))
		},
		OtherProcess: "stop the other process or choose another state folder",
		OtherOwner:   "use another state folder for this cluster",
		OtherSchema:  "wait until its transactions are final, then move the file away; a new one is made",
		LockTimeout:  2 * time.Second,
		BatchDelay:   time.Millisecond, // concurrent submissions share one sync to disk; a lone one waits little
		NoSync:       noSync,
	})
	if err != nil {
		return nil, err
	}
	return &Store{db: db}, nil
}

// Close syncs and releases the file.
func (s *Store) Close() error { return s.db.Close() }

// Get reads an entry. Error: ErrUnknownIntent.
func (s *Store) Get(id string) (Entry, error) {
	var r Entry
	err := s.db.View(func(tx *bolt.Tx) error {
		err := boltstore.GetJSON(tx, bucketIntents, []byte(id), &r)
		if errors.Is(err, boltstore.ErrNotFound) {
			return fmt.Errorf("%w: %s", ErrUnknownIntent, id)
		}
		return err
	})
	return r, err
}

// Entries calls f for every entry until it returns an error.
func (s *Store) Entries(f func(Entry) error) error {
	return s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketIntents).ForEach(func(k, raw []byte) error {
			var r Entry
			if err := boltstore.ValueJSON(bucketIntents, k, raw, &r); err != nil {
				return err
			}
			return f(r)
		})
	})
}

// put writes an entry.
func (s *Store) put(r Entry) error {
	return s.batch(r.ID, func(tx *bolt.Tx) error { return boltstore.PutJSON(tx, bucketIntents, []byte(r.ID), r) })
}

// putSigned writes an entry together with its new signature.
// Error: errSignatureTaken.
func (s *Store) putSigned(r Entry) error {
	return s.batch(r.ID, func(tx *bolt.Tx) error {
		sig := r.Current.Signature[:]
		if tx.Bucket(bucketSigs).Get(sig) != nil {
			return errSignatureTaken
		}
		if err := boltstore.Put(tx, bucketSigs, sig, []byte(r.ID)); err != nil {
			return err
		}
		return boltstore.PutJSON(tx, bucketIntents, []byte(r.ID), r)
	})
}

func (s *Store) batch(id string, f func(*bolt.Tx) error) error {
	if err := s.db.Batch(f); err != nil {
		return fmt.Errorf("store intent %s: %w", id, err)
	}
	return nil
}

// Prune forgets terminal intents that have not changed since before, and their signatures. It returns how many.
func (s *Store) Prune(before time.Time) (int, error) {
	n := 0
	err := s.db.Update(func(tx *bolt.Tx) error {
		n = 0
		drop := map[string]bool{}
		intents, sigs := tx.Bucket(bucketIntents), tx.Bucket(bucketSigs)
		if err := intents.ForEach(func(k, raw []byte) error {
			var r Entry
			if err := boltstore.ValueJSON(bucketIntents, k, raw, &r); err != nil {
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
		if err := sigs.ForEach(func(k, raw []byte) error {
			id, err := boltstore.Value(bucketSigs, k, raw)
			if err != nil {
				return err
			}
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
