package desk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/sponsor"
)

const (
	bookSchema = 1
	day        = 24 * time.Hour
	// keptDays is for how many days the book keeps what was spent.
	keptDays = 90
)

// bucketSpent has lamports by day and caller: start of the day, unix seconds, 64 bits big endian, and the caller's name; without a
// name the sum of all.
var bucketSpent = []byte("spent")

// Limits are what a sponsor pays within a day, which begins at midnight UTC.
type Limits struct {
	Caller, Total chain.Lamports
}

// Book counts what each caller costs. It is safe for concurrent use.
type Book struct {
	db *boltstore.DB
}

// OpenBook opens the file, or creates it with mode 0600. It belongs to one sponsor's key. Errors: those of boltstore.Open.
func OpenBook(path string, key solana.PublicKey) (*Book, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "sponsor's book", Schema: bookSchema, Owner: key[:], Buckets: [][]byte{bucketSpent},
		DescribeOwner: func(key []byte) string { return "the sponsor " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry serve runs with this state folder: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "use the gantry that wrote it; without the file the limits of today begin anew",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Book{db}, nil
}

// Close syncs and releases the file.
func (b *Book) Close() error { return b.db.Close() }

// Spent is what a caller has cost on the day of a time; without a name, what all have.
func (b *Book) Spent(now time.Time, name string) (spent chain.Lamports, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		spent, err = spentOf(tx, keyOf(now, name))
		return err
	})
	return spent, err
}

// Spend counts what a transaction costs, before it is signed. Error: *sponsor.Refusal where a limit is reached.
func (b *Book) Spend(now time.Time, name string, cost chain.Lamports, limits Limits) error {
	return b.db.Update(func(tx *bolt.Tx) error {
		for _, of := range []struct {
			rule, name, who string
			most            chain.Lamports
		}{{RuleLimit, name, name + " may cost the sponsor", limits.Caller}, {RuleTotal, "", "all callers together may cost the sponsor", limits.Total}} {
			key := keyOf(now, of.name)
			spent, err := spentOf(tx, key)
			if err != nil {
				return err
			}
			if cost > of.most || spent > of.most-cost {
				renews := now.UTC().Truncate(day).Add(day)
				r := sponsor.Refused(of.rule, fmt.Sprintf("the limit begins anew at %s UTC; until then pay with SOL of your own", renews.Format(time.DateTime)),
					"%s %s a day; %s are spent today, and this transaction costs %s", of.who, of.most, spent, cost)
				r.Renews = renews
				return r
			}
			if err := boltstore.PutJSON(tx, bucketSpent, key, uint64(spent+cost)); err != nil {
				return err
			}
		}
		return prune(tx, now)
	})
}

// prune removes days that are long over.
func prune(tx *bolt.Tx, now time.Time) error {
	_, err := boltstore.DeleteBelow(tx.Bucket(bucketSpent), keyOf(now.Add(-keptDays*day), ""), func(_, _ []byte) (bool, error) { return true, nil })
	return err
}

func spentOf(tx *bolt.Tx, key []byte) (chain.Lamports, error) {
	var n uint64
	if err := boltstore.GetJSON(tx, bucketSpent, key, &n); err != nil && !errors.Is(err, boltstore.ErrNotFound) {
		return 0, fmt.Errorf("what the sponsor has spent: %w", err)
	}
	return chain.Lamports(n), nil
}

func keyOf(now time.Time, name string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(now.UTC().Truncate(day).Unix())), name...)
}
