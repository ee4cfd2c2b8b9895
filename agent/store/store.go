package store

import (
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// Schema is the layout of the file.
const Schema = 1

var (
	// ErrCorrupt: the file is damaged. The agent must not go on with it: it could sign what it had already signed
	// differently.
	ErrCorrupt = boltstore.ErrCorrupt
	// ErrSchema: the file was written by another version.
	ErrSchema = boltstore.ErrSchema
	// ErrLocked: another process has the file open.
	ErrLocked = boltstore.ErrLocked
	// ErrOtherOwner: the file belongs to another node or another cluster.
	ErrOtherOwner = boltstore.ErrOwner
	// ErrNotFound: there is no such entry.
	ErrNotFound = boltstore.ErrNotFound
	// ErrExists: the entry is there already and differs.
	ErrExists = errors.New("already stored differently")
	// ErrTransition: a lease cannot move that way.
	ErrTransition = errors.New("lease cannot change state that way")
	// ErrReceipt: signing this would contradict an earlier receipt.
	ErrReceipt = errors.New("receipt contradicts an earlier one")
)

var (
	bucketLeases   = []byte("leases")
	bucketReceipts = []byte("receipts")
	bucketBids     = []byte("bids")
)

// Owner says whose file it is.
type Owner struct {
	// Domain is the first 8 bytes of the cluster's genesis hash.
	Domain [8]byte
	// NodeKey is the node's ed25519 public key.
	NodeKey Key
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
	db  *boltstore.DB
	now func() time.Time
}

// Open opens or creates the file at path (mode 0600) and checks all of it.
// Errors: ErrCorrupt, ErrSchema, ErrLocked, ErrOtherOwner.
func Open(path string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "agent store", Schema: Schema, Owner: append(o.Owner.Domain[:], o.Owner.NodeKey[:]...),
		Buckets:       [][]byte{bucketLeases, bucketReceipts, bucketBids},
		DescribeOwner: func(owner []byte) string { return fmt.Sprintf("node %x on cluster %x", owner[8:], owner[:8]) },
		OtherSchema: "run the version that wrote it until its leases are closed, then move the file away: an agent with a new file knows " +
			"neither the jobs that run nor the receipts that it signed",
		LockTimeout: o.LockTimeout,
	})
	if err != nil {
		return nil, err
	}
	return &Store{db: db, now: o.Now}, nil
}

// Close closes the file. Further calls fail.
func (s *Store) Close() error { return s.db.Close() }

// Notices keeps which notices for people were sent.
func (s *Store) Notices() boltstore.Kept { return s.db.Kept("notices") }

// Starts keeps how containers of images have started; see package starts.
func (s *Store) Starts() boltstore.Kept { return s.db.Kept("starts") }

// get reads one entry; ErrNotFound if there is none.
func get(tx *bolt.Tx, bucket, key []byte, v any) error { return boltstore.GetJSON(tx, bucket, key, v) }

func put(tx *bolt.Tx, bucket, key []byte, v any) error { return boltstore.PutJSON(tx, bucket, key, v) }
