package onramp

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

const (
	schema = 1
	// kept is how long a notice is known. Providers repeat for days; a signature that old is refused by its time.
	kept = 90 * 24 * time.Hour
	// mostNotices is how many are kept: only providers with the secret make any.
	mostNotices = 10_000
)

var (
	bucketNotices  = []byte("notices")  // by provider and event
	bucketArrivals = []byte("arrivals") // by the signature of a transfer: the notice that stands for it
)

// State says what is known of a purchase.
type State string

// The states.
const (
	Pending   State = "pending"   // the provider works on it
	Failed    State = "failed"    // the provider says that nothing will come
	Reported  State = "reported"  // the provider says that it was sent; the chain does not show it yet
	Arrived   State = "arrived"   // the chain shows it in the wallet
	Repeated  State = "repeated"  // another notice stands for the same transfer
	Elsewhere State = "elsewhere" // another wallet, network or token than the customer's
)

// Notice is a webhook that was received.
type Notice struct {
	ID          string `json:"id" doc:"Provider and event"`
	Provider    string `json:"provider"`
	Purchase    string `json:"purchase" doc:"The provider's name of the purchase"`
	Received    int64  `json:"received" doc:"Unix seconds"`
	State       State  `json:"state" enum:"pending,failed,reported,arrived,repeated,elsewhere"`
	Reported    string `json:"reported,omitempty" doc:"The amount as the provider has written it; it decides nothing"`
	Arrived     string `json:"arrived,omitempty" doc:"USDC that the chain shows in the wallet by this transfer"`
	Transaction string `json:"transaction,omitempty" doc:"Signature of the transfer"`
}

// Store keeps notices, so that one that was received is never taken again.
type Store struct{ db *boltstore.DB }

// OpenStore opens the file, or creates it with mode 0600. It belongs to one customer. Errors: those of boltstore.Open.
func OpenStore(path string, customer solana.PublicKey) (*Store, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "store of on-ramps", Schema: schema, Owner: customer[:], Buckets: [][]byte{bucketNotices, bucketArrivals},
		DescribeOwner: func(key []byte) string { return "the customer " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry serve runs for this customer: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "move the file away; webhooks that were received are then not known any more",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Store{db: db}, nil
}

// Close syncs and releases the file.
func (s *Store) Close() error { return s.db.Close() }

// Take writes a notice down and reports whether it is new. When it returns, the notice is on the disk.
func (s *Store) Take(n Notice) (fresh bool, err error) {
	err = s.db.Update(func(tx *bolt.Tx) error {
		fresh = false
		var old Notice
		err := boltstore.GetJSON(tx, bucketNotices, []byte(n.ID), &old)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, boltstore.ErrNotFound):
			return err
		}
		if err := prune(tx, n.Received); err != nil {
			return err
		}
		fresh = true
		return boltstore.PutJSON(tx, bucketNotices, []byte(n.ID), n)
	})
	if err != nil {
		return false, fmt.Errorf("store notice: %w", err)
	}
	return fresh, nil
}

// prune makes room for one more notice.
func prune(tx *bolt.Tx, now int64) error {
	all, err := notices(tx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Notice) int { return int(a.Received - b.Received) })
	for i, n := range all {
		if n.Received > now-int64(kept/time.Second) && len(all)-i < mostNotices {
			return nil
		}
		if err := tx.Bucket(bucketNotices).Delete([]byte(n.ID)); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	return nil
}

// Settle writes down what the chain shows of a notice's transfer. A transfer stands for one notice: for any other it is
// a repetition.
func (s *Store) Settle(n Notice) (Notice, error) {
	err := s.db.Update(func(tx *bolt.Tx) error {
		var first string
		err := boltstore.GetJSON(tx, bucketArrivals, []byte(n.Transaction), &first)
		switch {
		case errors.Is(err, boltstore.ErrNotFound):
			if err := boltstore.PutJSON(tx, bucketArrivals, []byte(n.Transaction), n.ID); err != nil {
				return err
			}
		case err != nil:
			return err
		case first != n.ID:
			n.State, n.Arrived = Repeated, ""
		}
		return boltstore.PutJSON(tx, bucketNotices, []byte(n.ID), n)
	})
	if err != nil {
		return n, fmt.Errorf("store notice: %w", err)
	}
	return n, nil
}

// Notices are all that are kept, the newest first.
func (s *Store) Notices() (all []Notice, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		all, err = notices(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read notices: %w", err)
	}
	slices.SortStableFunc(all, func(a, b Notice) int { return int(b.Received - a.Received) })
	return all, nil
}

func notices(tx *bolt.Tx) ([]Notice, error) {
	all := []Notice{}
	err := tx.Bucket(bucketNotices).ForEach(func(key, entry []byte) error {
		var n Notice
		if err := boltstore.ValueJSON(bucketNotices, key, entry, &n); err != nil {
			return err
		}
		all = append(all, n)
		return nil
	})
	return all, err
}
