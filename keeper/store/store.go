package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

// Schema is the layout of the file.
const Schema = 1

var (
	// ErrCorrupt: the file is damaged. The keeper must not sign anything with it.
	ErrCorrupt = boltstore.ErrCorrupt
	// ErrSchema: the file was written by another version.
	ErrSchema = boltstore.ErrSchema
	// ErrLocked: another process has the file open.
	ErrLocked = boltstore.ErrLocked
	// ErrOwner: the file belongs to another keeper or cluster.
	ErrOwner = boltstore.ErrOwner
	// ErrNotFound: there is no such entry.
	ErrNotFound = boltstore.ErrNotFound
	// ErrConflict: another statement about the same thing was signed before.
	ErrConflict = errors.New("another statement about the same check was signed before")
	// ErrSealed: the period's statements were declared complete.
	ErrSealed = errors.New("period is sealed")
	// ErrEarly: the period is one that a new store may not sign for.
	ErrEarly = errors.New("a new store cannot know what was signed for this period")
	// ErrProposal: another proposal was signed for this round of the period.
	ErrProposal = errors.New("another proposal was signed for this round")
	// ErrBidSet: another set of bids was signed for this auction.
	ErrBidSet = errors.New("a bid set with other bids was signed for this auction")
)

var (
	bucketMeta       = boltstore.BucketMeta
	bucketStatements = []byte("statements")
	bucketVotes      = []byte("votes")
	bucketProposals  = []byte("proposals")
	bucketProofs     = []byte("proofs")
	bucketBids       = []byte("bids")
	bucketBidSets    = []byte("bid sets")
	bucketPacks      = []byte("packs")
	bucketManifests  = []byte("manifests")
	bucketRounds     = []byte("rounds")
	bucketHeads      = []byte("bid set heads")

	keyFirst  = []byte("first")
	keySealed = []byte("sealed")
	keyFile   = []byte("file")
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
	db    *boltstore.DB
	first atomic.Uint64 // a period; Prune raises it
	pack  int           // statements in an entry of a sealed period
}

// Open opens or creates the file (mode 0600) and reads all of it once.
// Errors: ErrCorrupt, ErrSchema, ErrLocked, ErrOwner, ErrFrozen.
func Open(path string, o Options) (*Store, error) {
	s := &Store{pack: packSize}
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "keeper store", Schema: Schema, Owner: append(o.Domain[:], o.Keeper[:]...),
		Buckets: slices.Concat(promises, [][]byte{bucketProposals, bucketProofs, bucketBids, bucketBidSets, bucketHeads}),
		Covered: promises, // by the digest, which takes every byte of them
		Fill: func(tx *bolt.Tx) error {
			var file [16]byte
			_, err := rand.Read(file[:])
			return errors.Join(err, boltstore.Put(tx, bucketMeta, keyFile, file[:]), putNumber(tx, keyFirst, uint64(o.FirstPeriod)), (&digest{}).save(tx))
		},
		Check: func(tx *bolt.Tx) error {
			first, err := getNumber(tx, keyFirst)
			s.first.Store(first)
			return errors.Join(err, checkDigest(tx), frozen(tx))
		},
		DescribeOwner: describeOwner, OtherOwner: "give another --data-dir folder", LockTimeout: o.LockTimeout,
	})
	if err != nil {
		return nil, err
	}
	s.db = db
	return s, nil
}

func describeOwner(owner []byte) string {
	var d records.Domain
	if len(owner) != len(d)+32 {
		return "an unknown owner"
	}
	return fmt.Sprintf("keeper %s in domain %x", solana.PublicKeyFromBytes(owner[len(d):]), owner[:len(d)])
}

// begin makes a period the first that may be signed for, unless that is a later one already.
func (s *Store) begin(tx *bolt.Tx, p records.Period) error {
	if p <= s.FirstPeriod() {
		return nil
	}
	// Should the file not be written after this, less is signed than could be.
	s.first.Store(uint64(p))
	return putNumber(tx, keyFirst, uint64(p))
}

// Turn waits until nothing else is written, and writes nothing itself: for a watchdog.
func (s *Store) Turn() error {
	nothing := errors.New("nothing to write")
	if err := s.db.Update(func(*bolt.Tx) error { return nothing }); !errors.Is(err, nothing) {
		return err
	}
	return nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// FirstPeriod is the first period that this store may sign for: what was signed for an earlier one it does not know, or
// not any more.
func (s *Store) FirstPeriod() records.Period { return records.Period(s.first.Load()) }

// Prune forgets everything about periods before the given one, for which nothing is signed any more. It returns how
// many entries.
func (s *Store) Prune(before records.Period) (int, error) {
	n := 0
	err := s.db.Update(func(tx *bolt.Tx) error {
		n = 0
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		for _, name := range slices.Concat(promises, [][]byte{bucketProposals}) {
			old, err := boltstore.DeleteBelow(tx.Bucket(name), periodKey(before), func(k, v []byte) (bool, error) {
				if isPromise(name) {
					all.drop(name, k, v)
				}
				return true, nil
			})
			if err != nil {
				return err
			}
			n += old
		}
		return errors.Join(s.begin(tx, before), all.save(tx))
	})
	return n, err
}
