package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// SchemaVersion is the layout that this code writes.
const SchemaVersion = 1

var (
	// ErrCorrupt: the file is damaged. The agent must not go on with it: it could
	// sign what it had already signed differently.
	ErrCorrupt = errors.New("store: file is damaged")
	// ErrSchema: the file was written by another version.
	ErrSchema = errors.New("store: file has another schema version")
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("store: file is in use by another agent")
	// ErrOtherOwner: the file belongs to another node or another cluster.
	ErrOtherOwner = errors.New("store: file belongs to another node or cluster")
	// ErrNotFound: no such record.
	ErrNotFound = errors.New("store: not found")
	// ErrExists: the record is there already and differs.
	ErrExists = errors.New("store: already recorded differently")
	// ErrTransition: a lease cannot move that way.
	ErrTransition = errors.New("store: lease cannot change state that way")
	// ErrReceipt: signing this would contradict an earlier receipt.
	ErrReceipt = errors.New("store: receipt contradicts an earlier one")
)

var (
	bucketMeta     = []byte("meta")
	bucketLeases   = []byte("leases")
	bucketReceipts = []byte("receipts")
	bucketWork     = []byte("work")
	bucketSettings = []byte("settings")
	bucketBids     = []byte("bids")

	buckets = [][]byte{bucketMeta, bucketLeases, bucketReceipts, bucketWork, bucketSettings, bucketBids}
	// added are buckets that files of earlier versions do not have.
	added = [][]byte{bucketBids}

	keySchema = []byte("schema")
	keyOwner  = []byte("owner")
)

// Owner says whose memory a file is.
type Owner struct {
	// Domain is the first 8 bytes of the cluster's genesis hash.
	Domain [8]byte `json:"domain"`
	// NodeKey is the node's ed25519 public key.
	NodeKey Key `json:"node_key"`
}

// Options for Open.
type Options struct {
	// Owner is written to a new file and must match an old one.
	Owner Owner
	// LockTimeout is how long to wait for another process; 0 means one second.
	LockTimeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Store is safe for use by several goroutines.
type Store struct {
	db  *bolt.DB
	now func() time.Time
}

// Open opens or creates the file at path (mode 0600) and checks all of it.
func Open(path string, o Options) (*Store, error) {
	if o.LockTimeout <= 0 {
		o.LockTimeout = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := create(path, o); err != nil {
			return nil, err
		}
	}
	s := &Store{now: o.Now}
	if err := guard(path, func() error { return s.open(path, o) }); err != nil {
		if s.db != nil {
			// Closing a damaged file may fail as well; the first error is the one to see.
			_ = guard(path, s.db.Close)
		}
		return nil, err
	}
	return s, nil
}

// guard turns the panics and page faults that bbolt answers damage with into
// ErrCorrupt.
func guard(path string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", ErrCorrupt, path, r)
		}
	}()
	return f()
}

func (s *Store) open(path string, o Options) error {
	if err := checkLength(path); err != nil {
		return err
	}
	db, err := openFile(path, o.LockTimeout)
	if err != nil {
		return err
	}
	s.db = db
	if err := s.walk(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	if err := s.checkPages(path); err != nil {
		return err
	}
	if err := s.checkMeta(path, o.Owner); err != nil {
		return err
	}
	if err := s.addBuckets(); err != nil {
		return err
	}
	return s.checkRecords(path)
}

// addBuckets brings a file of an earlier version up to this one.
func (s *Store) addBuckets() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range added {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("store: create %s: %w", name, err)
			}
		}
		return nil
	})
}

func openFile(path string, timeout time.Duration) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: timeout})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: %s", ErrLocked, path)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	case err != nil:
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	return db, nil
}

// create makes a new file under another name and moves it into place when it is
// complete, so that an empty file at path always means damage.
func create(path string, o Options) error {
	fresh := path + ".new"
	db, err := openFile(fresh, o.LockTimeout)
	if err != nil {
		return err
	}
	err = prepare(db, o.Owner)
	if cerr := db.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("store: close %s: %w", fresh, cerr)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// prepare fills a new file.
func prepare(db *bolt.DB, owner Owner) error {
	return db.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("store: create %s: %w", name, err)
			}
		}
		meta := tx.Bucket(bucketMeta)
		if err := put(meta, bucketMeta, keySchema, SchemaVersion); err != nil {
			return err
		}
		return put(meta, bucketMeta, keyOwner, owner)
	})
}

// Close closes the file. Further calls fail.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}

// get reads and checks one record; ErrNotFound if there is none.
func get(b *bolt.Bucket, bucket, key []byte, v any) error {
	raw := b.Get(key)
	if raw == nil {
		return fmt.Errorf("%w: %s %x", ErrNotFound, bucket, key)
	}
	return unseal(bucket, key, raw, v)
}

func put(b *bolt.Bucket, bucket, key []byte, v any) error {
	raw, err := seal(bucket, key, v)
	if err != nil {
		return err
	}
	if err := b.Put(key, raw); err != nil {
		return fmt.Errorf("store: write %s: %w", bucket, err)
	}
	return nil
}
