package store

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// ReserveReceipt stores that the node is about to sign (lease, sequence, seconds). Only after it returned nil may the
// signature be made. It refuses with [ErrReceipt]
//
//   - a sequence below the last one,
//   - the last sequence with another number of seconds,
//   - a higher sequence with fewer seconds.
//
// The same pair again is allowed: a crash between here and the customer's answer costs nothing.
func (s *Store) ReserveReceipt(lease Key, sequence, seconds uint64) (Receipt, error) {
	var r Receipt
	err := s.db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketLeases).Get(lease[:]) == nil {
			return fmt.Errorf("%w: lease %x", ErrNotFound, lease)
		}
		err := get(tx, bucketReceipts, lease[:], &r)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil {
			switch {
			case sequence == r.Sequence && seconds == r.Seconds:
				return nil
			case sequence <= r.Sequence:
				return fmt.Errorf("%w: sequence %d for %d s, but %d was signed for %d s", ErrReceipt, sequence, seconds, r.Sequence, r.Seconds)
			case seconds < r.Seconds:
				return fmt.Errorf("%w: %d s after %d s were signed", ErrReceipt, seconds, r.Seconds)
			}
		}
		r = Receipt{Lease: lease, Sequence: sequence, Seconds: seconds, At: s.now().UTC(), Signed: r.Signed}
		return put(tx, bucketReceipts, lease[:], r)
	})
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// SignReceipt stores the signatures of the receipt that was reserved last. customer may be empty until the customer has
// answered; by is the session key that signed for it, zero for its own. A receipt that has been overtaken is
// [ErrReceipt].
func (s *Store) SignReceipt(lease Key, sequence uint64, node, customer []byte, by Key) error {
	for _, sig := range [][]byte{node, customer} {
		if len(sig) != 0 && len(sig) != ed25519.SignatureSize {
			return fmt.Errorf("signature of %d bytes", len(sig))
		}
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		var r Receipt
		if err := get(tx, bucketReceipts, lease[:], &r); err != nil {
			return err
		}
		if r.Sequence != sequence {
			return fmt.Errorf("%w: sequence %d was overtaken by %d", ErrReceipt, sequence, r.Sequence)
		}
		if len(node) != 0 {
			r.NodeSignature = bytes.Clone(node)
		}
		if len(customer) != 0 {
			r.CustomerSignature, r.CustomerKey = bytes.Clone(customer), by
		}
		if len(r.NodeSignature) != 0 && len(r.CustomerSignature) != 0 {
			r.Signed = &SignedReceipt{
				Sequence: r.Sequence, Seconds: r.Seconds,
				NodeSignature: r.NodeSignature, CustomerKey: r.CustomerKey, CustomerSignature: r.CustomerSignature,
			}
		}
		return put(tx, bucketReceipts, lease[:], r)
	})
}

// Receipt returns the last reserved receipt of a lease, or ErrNotFound.
func (s *Store) Receipt(lease Key) (Receipt, error) {
	var r Receipt
	err := s.db.View(func(tx *bolt.Tx) error {
		return get(tx, bucketReceipts, lease[:], &r)
	})
	return r, err
}
