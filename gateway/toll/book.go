// Package toll keeps what customers have paid a gateway for relaying, and takes what is relayed from it. Everything is
// written before it counts: a payment before it is answered, and a piece of traffic before it is relayed.
package toll

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// GiB is what a price is for, bytes.
	GiB = 1 << 30
	// Chunk is how many bytes are taken from an allowance or a balance at once. After a crash at most one of each lease was
	// taken and not relayed.
	Chunk = 16 << 20

	schema = 1
)

var (
	bucketPayments = []byte("payments") // by signature
	bucketWallets  = []byte("wallets")  // by the customer's wallet
	bucketLeases   = []byte("leases")   // by the lease's address
)

// Options of a Book; all but Free are required.
type Options struct {
	Path    string
	Domain  records.Domain
	Gateway solana.PublicKey
	// Price of a GiB, both ways together, and the bytes of each lease that cost nothing.
	Price market.USDC
	Free  uint64
	// Mint is the token that is taken, and Payee the wallet to whose associated account it goes.
	Mint, Payee solana.PublicKey
	// Transaction reads a final transaction. Error: chain.ErrNotFound.
	Transaction Transactions
}

// Book is safe for concurrent use.
type Book struct {
	o  Options
	db *boltstore.DB

	mu        sync.Mutex
	accounts  map[solana.PublicKey]*Account
	lookups   *rate.Limiter
	lookupsOf map[solana.PublicKey]*rate.Limiter

	counts counts
}

type counts struct{ free, paid, payments, received, refused, lookups atomic.Uint64 }

// Counts are figures of this process.
type Counts struct {
	// FreeBytes and PaidBytes were taken, in chunks.
	FreeBytes, PaidBytes uint64
	// Payments that were credited, what they brought, and those that were refused.
	Payments uint64
	Received market.USDC
	Refused  uint64
	// Lookups of transactions on chain.
	Lookups uint64
}

// wallet is a customer's balance, bytes: a payment buys them at the price of its day.
type wallet struct {
	Bought uint64 `json:"bought"`
	Used   uint64 `json:"used"`
}

// lease is how much of its allowance a lease has used, bytes.
type lease struct {
	Free uint64 `json:"free"`
}

// payment is one that was credited.
type payment struct {
	Customer solana.PublicKey `json:"customer"`
	Amount   market.USDC      `json:"amount"`
	Price    market.USDC      `json:"price"`
	Bytes    uint64           `json:"bytes"`
	At       time.Time        `json:"at"`
}

// Open opens or creates the file. It belongs to one gateway on one cluster. Errors: options.ErrMissing, those of boltstore.
func Open(o Options) (*Book, error) {
	if err := options.Complete("toll", o, "Free"); err != nil {
		return nil, err
	}
	owner := slices.Concat(o.Domain[:], o.Gateway[:])
	db, err := boltstore.Open(o.Path, boltstore.Config{
		Name: "payments of customers", Schema: schema, Owner: owner, Buckets: [][]byte{bucketPayments, bucketWallets, bucketLeases},
		DescribeOwner: func(owner []byte) string {
			if at := len(owner) - solana.PublicKeyLength; at >= 0 {
				return fmt.Sprintf("gateway %s on the cluster with domain %x", solana.PublicKeyFromBytes(owner[at:]), owner[:at])
			}
			return "something else"
		},
		OtherProcess: "stop the other gateway, or choose another data folder",
		OtherOwner:   "use another data folder for this cluster and key",
		OtherSchema:  "it holds what customers have paid: run the version that wrote it",
		LockTimeout:  2 * time.Second,
		BatchDelay:   time.Millisecond, // leases that need a chunk at the same moment share one sync to disk
	})
	if err != nil {
		return nil, err
	}
	return &Book{
		o: o, db: db, accounts: map[solana.PublicKey]*Account{},
		lookups: rate.NewLimiter(lookupsPerSecond, lookupsBurst), lookupsOf: map[solana.PublicKey]*rate.Limiter{},
	}, nil
}

// Close releases the file. What was taken and not relayed goes back where it came from.
func (b *Book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, a := range b.accounts {
		errs = append(errs, a.giveBack())
	}
	return errors.Join(append(errs, b.db.Close())...)
}

// Counts of this process.
func (b *Book) Counts() Counts {
	c := &b.counts
	return Counts{
		FreeBytes: c.free.Load(), PaidBytes: c.paid.Load(), Payments: c.payments.Load(), Received: market.USDC(c.received.Load()),
		Refused: c.refused.Load(), Lookups: c.lookups.Load(),
	}
}

// Left is what a lease has left of its allowance, and its customer of what was paid, bytes.
func (b *Book) Left(of, customer solana.PublicKey) (free, paid uint64, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		var err error
		free, paid, err = b.left(tx, of, customer)
		return err
	})
	return free, paid, err
}

func (b *Book) left(tx *bolt.Tx, of, customer solana.PublicKey) (free, paid uint64, err error) {
	var l lease
	var w wallet
	if err := errors.Join(find(tx, bucketLeases, of[:], &l), find(tx, bucketWallets, customer[:], &w)); err != nil {
		return 0, 0, err
	}
	if w.Used > w.Bought {
		return 0, 0, boltstore.Damaged("wallet %s has used more than it has bought", customer)
	}
	if l.Free < b.o.Free {
		free = b.o.Free - l.Free
	}
	return free, w.Bought - w.Used, nil
}

// charge takes the next piece for a lease, at most so many bytes: of its allowance first, then of its customer's balance.
// Nothing is left when it returns 0. fromFree says where it came from.
func (b *Book) charge(of, customer solana.PublicKey, most uint64) (got uint64, fromFree bool, err error) {
	err = b.db.Batch(func(tx *bolt.Tx) error {
		free, paid, err := b.left(tx, of, customer)
		if err != nil {
			return err
		}
		fromFree = free > 0
		if got = min(most, paid); fromFree {
			got = min(most, free)
		}
		return b.use(tx, of, customer, got, fromFree, false)
	})
	if err != nil {
		return 0, false, fmt.Errorf("book of payments: %w", err)
	}
	if fromFree {
		b.counts.free.Add(got)
	} else {
		b.counts.paid.Add(got)
	}
	return got, fromFree, nil
}

// use writes that n bytes were used, or with back that they were not.
func (b *Book) use(tx *bolt.Tx, of, customer solana.PublicKey, n uint64, fromFree, back bool) error {
	if n == 0 {
		return nil
	}
	if back {
		n = -n // unsigned: what is added is taken off
	}
	if fromFree {
		var l lease
		if err := find(tx, bucketLeases, of[:], &l); err != nil {
			return err
		}
		l.Free += n
		return boltstore.PutJSON(tx, bucketLeases, of[:], l)
	}
	var w wallet
	if err := find(tx, bucketWallets, customer[:], &w); err != nil {
		return err
	}
	w.Used += n
	return boltstore.PutJSON(tx, bucketWallets, customer[:], w)
}

// find reads an entry; one that is missing is the zero value.
func find(tx *bolt.Tx, bucket, key []byte, v any) error {
	if err := boltstore.GetJSON(tx, bucket, key, v); !errors.Is(err, boltstore.ErrNotFound) {
		return err
	}
	return nil
}

// bytesFor is how many bytes an amount buys, rounded down.
func bytesFor(amount, price market.USDC) uint64 {
	hi, lo := bits.Mul64(uint64(amount), GiB)
	if hi >= uint64(price) {
		return math.MaxUint64
	}
	n, _ := bits.Div64(hi, lo, uint64(price))
	return n
}

// add is a + b, or the most that there is.
func add(a, b uint64) uint64 {
	if sum, carry := bits.Add64(a, b, 0); carry == 0 {
		return sum
	}
	return math.MaxUint64
}
