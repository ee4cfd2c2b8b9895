package store

import (
	"encoding/binary"
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// Bid is the node's bid in one sealed auction. Price and salt never change: two bids for one order would be one too
// many.
type Bid struct {
	Order       Key       `json:"order"`
	CloseAt     int64     `json:"close_at"` // unix seconds; with the order it names the auction
	RevealUntil int64     `json:"reveal_until"`
	Node        Key       `json:"node"`
	Price       MicroUSDC `json:"price"` // per GPU-hour
	Max         MicroUSDC `json:"max_price"`
	Salt        Key       `json:"salt"`
	Commitment  Key       `json:"commitment"`
	Signature   []byte    `json:"signature"` // over the commitment
	At          time.Time `json:"at"`
	// Acks are keepers' acknowledgements, Refusals their signed reasons for not taking the bid.
	Acks     []BidAck        `json:"acks,omitempty"`
	Refusals []SignedOutcome `json:"refusals,omitempty"`
	// Outcome is what became of the bid, signed by the keeper that awarded the order.
	Outcome *SignedOutcome `json:"outcome,omitempty"`
	// Over is true when nothing is left to do; Note then says what no keeper has signed.
	Over bool   `json:"over"`
	Note string `json:"note,omitempty"`
}

// BidAck is a keeper's acknowledgement.
type BidAck struct {
	Keeper     Key    `json:"keeper"`
	Stage      uint8  `json:"stage"` // records.AckStage
	ReceivedAt int64  `json:"received_at"`
	Signature  []byte `json:"signature"`
}

// SignedOutcome is a bid's outcome (sdk/records) with its keeper's signature.
type SignedOutcome struct {
	Keeper    Key    `json:"keeper"`
	Outcome   []byte `json:"outcome"`
	Signature []byte `json:"signature"`
}

// bidKey sorts by close.
func bidKey(order Key, closeAt int64) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(closeAt)), order[:]...)
}

// AddBid stores a bid before a keeper receives it. When there is one for this auction already, that one stays and is
// returned: a restarted agent goes on with the bid that it made.
func (s *Store) AddBid(b Bid) (Bid, error) {
	err := s.db.Update(func(tx *bolt.Tx) error {
		key := bidKey(b.Order, b.CloseAt)
		var old Bid
		switch err := get(tx, bucketBids, key, &old); {
		case err == nil:
			b = old
			return nil
		case !errors.Is(err, ErrNotFound):
			return err
		}
		if b.At.IsZero() {
			b.At = s.now().UTC()
		}
		return put(tx, bucketBids, key, b)
	})
	return b, err
}

// UpdateBid edits what became of a bid; the bid itself stays as it is. Error: ErrNotFound.
func (s *Store) UpdateBid(order Key, closeAt int64, change func(*Bid)) (Bid, error) {
	var b Bid
	err := s.db.Update(func(tx *bolt.Tx) error {
		key := bidKey(order, closeAt)
		if err := get(tx, bucketBids, key, &b); err != nil {
			return err
		}
		was := b
		change(&b)
		b.Order, b.CloseAt, b.Node, b.Price, b.Salt = was.Order, was.CloseAt, was.Node, was.Price, was.Salt
		b.Commitment, b.Signature, b.At = was.Commitment, was.Signature, was.At
		return put(tx, bucketBids, key, b)
	})
	return b, err
}

// Bids returns all bids, in the order of their auctions' closes.
func (s *Store) Bids() ([]Bid, error) {
	var out []Bid
	err := s.db.View(func(tx *bolt.Tx) error {
		out = nil
		return tx.Bucket(bucketBids).ForEach(func(k, raw []byte) error {
			var b Bid
			if err := boltstore.ValueJSON(bucketBids, k, raw, &b); err != nil {
				return err
			}
			out = append(out, b)
			return nil
		})
	})
	return out, err
}

// PruneBids forgets bids of auctions that closed before a unix second and are over. It returns how many.
func (s *Store) PruneBids(before int64) (int, error) {
	n := 0
	limit := binary.BigEndian.AppendUint64(nil, uint64(max(before, 0)))
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		n, err = boltstore.DeleteBelow(tx.Bucket(bucketBids), limit, func(k, raw []byte) (bool, error) {
			var b Bid
			err := boltstore.ValueJSON(bucketBids, k, raw, &b)
			return b.Over, err
		})
		return err
	})
	return n, err
}
