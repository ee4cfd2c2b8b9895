package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/gantry-market/gantry/client/records"
)

// Schema is the layout that this code writes. It reads the two before, too: unlisted, in which no manifest had a record, and
// unpacked, in which every statement had one of its own besides.
const (
	Schema   = 4
	unlisted = 3
	unpacked = 2
)

var (
	// ErrCorrupt: the file is damaged. The keeper must not sign anything with it.
	ErrCorrupt = errors.New("keeper store is damaged")
	// ErrSchema: the file was written by another version.
	ErrSchema = errors.New("keeper store has another schema version")
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("keeper store is in use by another process")
	// ErrOwner: the file belongs to another keeper or cluster.
	ErrOwner = errors.New("keeper store belongs to another keeper or cluster")
	// ErrContradiction: another statement about the same thing was signed before.
	ErrContradiction = errors.New("statement contradicts one that was signed before")
	// ErrSealed: the period's statements were declared complete.
	ErrSealed = errors.New("period is sealed")
	// ErrEarly: the period is one that a new store may not sign for.
	ErrEarly = errors.New("a new store cannot know what was signed for this period")
	// ErrNotFound: no such record.
	ErrNotFound = errors.New("not found")
)

var (
	bucketMeta       = []byte("meta")
	bucketStatements = []byte("statements")
	bucketVotes      = []byte("votes")
	bucketProposals  = []byte("proposals")
	bucketProofs     = []byte("proofs")
	bucketBids       = []byte("bids")
	bucketBidSets    = []byte("bid sets")
	bucketPacks      = []byte("packs")
	bucketManifests  = []byte("manifests")

	buckets = [][]byte{bucketMeta, bucketStatements, bucketVotes, bucketProposals}
	// added are buckets that files of earlier versions do not have.
	added = [][]byte{bucketProofs, bucketBids, bucketBidSets, bucketPacks, bucketManifests}

	keySchema = []byte("schema")
	keyOwner  = []byte("owner")
	keyFirst  = []byte("first")
	keySealed = []byte("sealed")
)

// Options for Open.
type Options struct {
	Keeper solana.PublicKey
	Domain records.Domain
	// FirstPeriod is written to a new file: the period after the one in which it is created.
	FirstPeriod records.Period
	// LockTimeout is how long to wait for another process; 0 means one second.
	LockTimeout time.Duration
}

// Store is safe for concurrent use.
type Store struct {
	db    *bolt.DB
	path  string
	first atomic.Uint64 // a period; Prune raises it
	pack  int           // statements in a record of a sealed period
}

// Open opens or creates the file (mode 0600) and reads all of it once.
// Errors: ErrCorrupt, ErrSchema, ErrLocked, ErrOwner.
func Open(path string, o Options) (*Store, error) {
	if o.LockTimeout <= 0 {
		o.LockTimeout = time.Second
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("keeper store: %w", err)
	}
	s := &Store{path: path, pack: packSize}
	if err := s.guard(func() error { return s.open(o) }); err != nil {
		if s.db != nil {
			// Closing a damaged file may fail as well; the first error is the one to see.
			_ = s.guard(s.db.Close)
		}
		return nil, err
	}
	return s, nil
}

// guard turns the panics and page faults with which bbolt answers damage into ErrCorrupt.
func (s *Store) guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", ErrCorrupt, s.path, r)
		}
	}()
	return f()
}

func (s *Store) open(o Options) error {
	info, err := os.Stat(s.path)
	fresh := errors.Is(err, os.ErrNotExist)
	if err == nil && info.Size() == 0 {
		return fmt.Errorf("%w: %s is empty", ErrCorrupt, s.path)
	}
	if fresh {
		if err := s.make(o); err != nil {
			return err
		}
	}
	if err := checkPages(s.path); err != nil {
		return err
	}
	db, err := bolt.Open(s.path, 0o600, &bolt.Options{Timeout: o.LockTimeout, FreelistType: bolt.FreelistMapType})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: %s", ErrLocked, s.path)
	case err != nil && (errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch)):
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, s.path, err)
	case err != nil:
		return fmt.Errorf("keeper store %s: %w", s.path, err)
	}
	s.db = db
	if err := db.View(func(tx *bolt.Tx) error { return s.check(tx, o) }); err != nil {
		return err
	}
	return db.Update(s.upgrade)
}

// upgrade brings a file of a layout before to this one.
func (s *Store) upgrade(tx *bolt.Tx) error {
	for _, name := range added {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	schema, err := getNumber(meta, keySchema)
	if err != nil || schema == Schema {
		return err
	}
	// A file of before does not say what was dropped from it: all before its first record may have been.
	kept, err := sealedUntil(meta)
	if err != nil {
		return err
	}
	for _, name := range promises {
		if k, _ := tx.Bucket(name).Cursor().First(); k != nil {
			kept = min(kept, periodOf(k))
		}
	}
	return errors.Join(s.begin(tx, kept), meta.Put(keySchema, seal(number(Schema))))
}

// begin makes a period the first that may be signed for, unless that is a later one already.
func (s *Store) begin(tx *bolt.Tx, p records.Period) error {
	if p <= s.FirstPeriod() {
		return nil
	}
	// Should the file not be written after this, less is signed than could be.
	s.first.Store(uint64(p))
	return tx.Bucket(bucketMeta).Put(keyFirst, seal(number(uint64(p))))
}

func owner(o Options) []byte { return append(append([]byte{}, o.Domain[:]...), o.Keeper[:]...) }

// make creates the file under another name and moves it into place when it is whole: a process that is killed meanwhile
// leaves nothing that looks like damage.
func (s *Store) make(o Options) error {
	part := s.path + ".new"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keeper store: %w", err)
	}
	db, err := bolt.Open(part, 0o600, &bolt.Options{Timeout: o.LockTimeout})
	if err != nil {
		return fmt.Errorf("keeper store %s: %w", part, err)
	}
	if err := errors.Join(db.Update(func(tx *bolt.Tx) error { return create(tx, o) }), db.Close()); err != nil {
		return fmt.Errorf("keeper store %s: %w", part, err)
	}
	if err := os.Rename(part, s.path); err != nil {
		return fmt.Errorf("keeper store: %w", err)
	}
	dir, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return fmt.Errorf("keeper store: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func create(tx *bolt.Tx, o Options) error {
	for _, name := range slices.Concat(buckets, added) {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	return errors.Join(
		meta.Put(keySchema, seal(number(Schema))),
		meta.Put(keyOwner, seal(owner(o))),
		meta.Put(keyFirst, seal(number(uint64(o.FirstPeriod)))),
		(&digest{}).save(tx),
	)
}

// check reads every record; pages were checked before. Promises are checked by their digest, which takes every byte of
// them, and the others by their own checksums.
func (s *Store) check(tx *bolt.Tx, o Options) error {
	for i, name := range slices.Concat(buckets, added) {
		b := tx.Bucket(name)
		if b == nil && i >= len(buckets) {
			continue // made below
		}
		if b == nil {
			return fmt.Errorf("%w: %s has no %s", ErrCorrupt, s.path, name)
		}
		if isGuarantee(name) {
			continue
		}
		if err := b.ForEach(func(_, v []byte) error { return intact(v) }); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	meta := tx.Bucket(bucketMeta)
	schema, err := getNumber(meta, keySchema)
	if err != nil {
		return err
	}
	if schema < unpacked || schema > Schema {
		return fmt.Errorf("%w: %s has %d, this version reads %d to %d", ErrSchema, s.path, schema, unpacked, Schema)
	}
	have, err := unseal(meta.Get(keyOwner))
	if err != nil {
		return err
	}
	if !bytes.Equal(have, owner(o)) {
		return fmt.Errorf("%w: %s; give another --data folder", ErrOwner, s.path)
	}
	first, err := getNumber(meta, keyFirst)
	s.first.Store(first)
	return errors.Join(err, checkDigest(tx), frozen(tx))
}

// Close closes the file.
func (s *Store) Close() error { return s.guard(s.db.Close) }

// FirstPeriod is the first period that this store may sign for: what was signed for an earlier one it does not know, or
// not any more.
func (s *Store) FirstPeriod() records.Period { return records.Period(s.first.Load()) }

// Prune forgets everything about periods before the given one, for which nothing is signed any more. It returns how many
// records.
func (s *Store) Prune(before records.Period) (int, error) {
	n := 0
	err := s.update(func(tx *bolt.Tx) error {
		n = 0
		limit := periodKey(before)
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		for _, name := range [][]byte{bucketStatements, bucketPacks, bucketManifests, bucketVotes, bucketProposals} {
			b := tx.Bucket(name)
			var old [][]byte
			c := b.Cursor()
			for k, _ := c.First(); k != nil && bytes.Compare(k[:min(8, len(k))], limit) < 0; k, _ = c.Next() {
				old = append(old, bytes.Clone(k))
			}
			for _, k := range old {
				if isGuarantee(name) {
					all.drop(name, k, b.Get(k))
				}
				if err := b.Delete(k); err != nil {
					return err
				}
			}
			n += len(old)
		}
		return errors.Join(s.begin(tx, before), all.save(tx))
	})
	return n, err
}

func (s *Store) update(f func(*bolt.Tx) error) error {
	return s.guard(func() error { return s.db.Update(f) })
}

func (s *Store) view(f func(*bolt.Tx) error) error {
	return s.guard(func() error { return s.db.View(f) })
}
