package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/market"
)

// budgetSchema is the layout of the file.
const budgetSchema = 1

var bucketPurchases = []byte("purchases") // by the key that the model has named

// Budget is the most that purchases of a session key may reserve over this server in all, and what they have. It is kept in
// a file and written before an order is sent. The session key's cap on chain holds beside it: an attacker who takes
// the file or the server over passes the budget, and not the cap.
type Budget struct {
	db   *boltstore.DB
	most market.USDC
}

// charge is a purchase that counts.
type charge struct {
	Request [32]byte    `json:"request"`
	Amount  market.USDC `json:"amount"`
	// Bought: a machine was awarded, so that the amount stays.
	Bought bool `json:"bought,omitempty"`
	// Cluster is the order of the cluster for which machines are bought; empty for another purchase.
	Cluster string    `json:"cluster,omitempty"`
	Created time.Time `json:"created"`
}

// OpenBudget opens the file, or creates it with mode 0600. It belongs to one session key. Errors: those of boltstore.Open.
func OpenBudget(path string, session solana.PublicKey, most market.USDC) (*Budget, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "budget", Schema: budgetSchema, Owner: session[:], Buckets: [][]byte{bucketPurchases},
		DescribeOwner: func(key []byte) string { return "the session key " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry mcp with a budget runs with this session key: stop it first, or give each its own key",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "use the gantry that wrote it",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Budget{db: db, most: most}, nil
}

// Close syncs and releases the file.
func (b *Budget) Close() error { return b.db.Close() }

// Spent is what all purchases count.
func (b *Budget) Spent() (market.USDC, error) {
	var sum market.USDC
	err := b.db.View(func(tx *bolt.Tx) (err error) {
		sum, err = spent(tx)
		return err
	})
	return sum, err
}

func spent(tx *bolt.Tx) (sum market.USDC, err error) {
	err = tx.Bucket(bucketPurchases).ForEach(func(k, entry []byte) error {
		var c charge
		if err := boltstore.ValueJSON(bucketPurchases, k, entry, &c); err != nil {
			return err
		}
		sum += c.Amount
		return nil
	})
	return sum, err
}

// fingerprint is what a purchase asks for, for its charge.
func fingerprint(r serve.OrderRequest) ([32]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return [32]byte{}, fmt.Errorf("request: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// reserve counts a purchase before its order is sent, once for its key. Errors: Failure where the budget is spent, or the
// key stands for another purchase.
func (b *Budget) reserve(key string, of charge) error {
	return b.db.Update(func(tx *bolt.Tx) error {
		var c charge
		switch err := boltstore.GetJSON(tx, bucketPurchases, []byte(key), &c); {
		case err == nil && c.Request != of.Request:
			return service.Usage(fmt.Sprintf("the key %q stands for another purchase", key), "repeat that request as it was, or choose another idempotencyKey")
		case err == nil:
			return nil
		case !errors.Is(err, boltstore.ErrNotFound):
			return err
		}
		sum, err := spent(tx)
		if err != nil {
			return err
		}
		if left := b.most - min(b.most, sum); of.Amount > left {
			return service.Refused(fmt.Sprintf("the budget of %s USDC has %s left, and the order reserves %s", b.most, left, of.Amount),
				"ask for less time, fewer GPUs or a lower price; the person who runs the server can raise it with --budget")
		}
		of.Created = time.Now().UTC()
		return boltstore.PutJSON(tx, bucketPurchases, []byte(key), of)
	})
}

// settle counts what a purchase has come to, instead of what it could have cost.
func (b *Budget) settle(key string, amount market.USDC) error {
	return b.db.Update(func(tx *bolt.Tx) error {
		var c charge
		if err := boltstore.GetJSON(tx, bucketPurchases, []byte(key), &c); err != nil || c.Bought {
			return err
		}
		c.Amount, c.Bought = min(c.Amount, amount), true
		return boltstore.PutJSON(tx, bucketPurchases, []byte(key), c)
	})
}

// release forgets a purchase that came to nothing.
func (b *Budget) release(key string) error {
	return b.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketPurchases).Delete([]byte(key)) })
}

// open lists purchases of which it is not known whether they came to something: all, or those of machines for the cluster of an order.
func (b *Budget) open(cluster string) (keys []string, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketPurchases).ForEach(func(k, entry []byte) error {
			var c charge
			err := boltstore.ValueJSON(bucketPurchases, k, entry, &c)
			if err == nil && !c.Bought && (cluster == "" || c.Cluster == cluster) {
				keys = append(keys, string(k))
			}
			return err
		})
	})
	return keys, err
}
