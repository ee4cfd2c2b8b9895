package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// AuctionKey names one auction: an order's address may live more than once, each time with another close.
type AuctionKey struct {
	CloseAt int64 // unix seconds
	Order   solana.PublicKey
}

// bytes sorts by close, so that old auctions are dropped from the front.
func (a AuctionKey) bytes() []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(a.CloseAt)), a.Order[:]...)
}

const auctionKeySize = 8 + 32

func readAuctionKey(raw []byte) (AuctionKey, [32]byte, error) {
	if len(raw) != auctionKeySize+32 {
		return AuctionKey{}, [32]byte{}, boltstore.Damaged("key of %d bytes", len(raw))
	}
	return AuctionKey{int64(binary.BigEndian.Uint64(raw)), solana.PublicKey(raw[8:40])}, [32]byte(raw[40:]), nil
}

// PutBids keeps bids of one auction, by node account, in place of what was kept. They are on disk when it returns: only
// then may a keeper acknowledge them. Calls at the same time share one write.
func (s *Store) PutBids(a AuctionKey, bids map[[32]byte][]byte) error {
	err := s.db.Batch(func(tx *bolt.Tx) error {
		for node, raw := range bids {
			if err := boltstore.Put(tx, bucketBids, append(a.bytes(), node[:]...), raw); err != nil {
				return err
			}
		}
		return bump(tx)
	})
	if err != nil {
		return fmt.Errorf("keep bids of order %s: %w", a.Order, err)
	}
	return nil
}

// EachBid calls f with every bid of auctions that closed at a unix second from on, in order of their close.
func (s *Store) EachBid(from int64, f func(a AuctionKey, node [32]byte, raw []byte) error) error {
	return s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketBids).Cursor()
		for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, uint64(from))); k != nil; k, v = c.Next() {
			a, node, err := readAuctionKey(k)
			if err != nil {
				return err
			}
			raw, err := boltstore.Value(bucketBids, k, v)
			if err != nil {
				return err
			}
			if err := f(a, node, bytes.Clone(raw)); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutBidSet keeps what a keeper published about an auction, in place of what was kept of it.
func (s *Store) PutBidSet(a AuctionKey, keeper solana.PublicKey, raw []byte) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		return boltstore.Put(tx, bucketBidSets, append(a.bytes(), keeper[:]...), raw)
	})
	if err != nil {
		return fmt.Errorf("keep the bid set of order %s: %w", a.Order, err)
	}
	return nil
}

// BidSet returns what a keeper published about an auction. Error: ErrNotFound.
func (s *Store) BidSet(a AuctionKey, keeper solana.PublicKey) ([]byte, error) {
	var out []byte
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		out, err = boltstore.Get(tx, bucketBidSets, append(a.bytes(), keeper[:]...))
		return err
	})
	return out, err
}

// LastBidSet returns the close of the last auction of an order of which a keeper's set is kept. Error: ErrNotFound.
func (s *Store) LastBidSet(order, keeper solana.PublicKey) (AuctionKey, error) {
	found := AuctionKey{}
	err := s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketBidSets).Cursor()
		for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
			a, who, err := readAuctionKey(k)
			if err != nil {
				return err
			}
			if a.Order == order && who == keeper {
				found = a
				return nil
			}
		}
		return ErrNotFound
	})
	return found, err
}

// PruneBids forgets auctions that closed before a unix second. It returns how many entries.
func (s *Store) PruneBids(before int64) (int, error) {
	n := 0
	limit := binary.BigEndian.AppendUint64(nil, uint64(max(before, 0)))
	err := s.db.Update(func(tx *bolt.Tx) error {
		bids, err := boltstore.DeleteBelow(tx.Bucket(bucketBids), limit, nil)
		if err != nil {
			return err
		}
		sets, err := boltstore.DeleteBelow(tx.Bucket(bucketBidSets), limit, nil)
		if err != nil {
			return err
		}
		heads, err := boltstore.DeleteBelow(tx.Bucket(bucketHeads), limit, nil)
		n = bids + sets + heads
		return err
	})
	return n, err
}
