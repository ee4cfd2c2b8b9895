package records

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// ReceiptSize is the length of an encoded receipt in bytes.
const ReceiptSize = 72

// Receipt is the running total of delivered seconds of a lease. The node key and the customer's wallet both sign it;
// the program pays by the highest sequence, so a lost receipt costs nothing once a later one exists.
type Receipt struct {
	Domain     Domain
	Lease      solana.PublicKey // the lease account's address
	StartedAt  int64            // the lease's start, unix seconds: binds the receipt to one life of the address
	Sequence   uint64           // grows by at least one with every receipt
	Cumulative uint64           // seconds delivered since the lease started
}

// Encode returns the 72 bytes that are signed.
func (r Receipt) Encode() [ReceiptSize]byte {
	var b [ReceiptSize]byte
	copy(b[0:8], TagReceipt)
	copy(b[8:16], r.Domain[:])
	copy(b[16:48], r.Lease[:])
	binary.LittleEndian.PutUint64(b[48:56], uint64(r.StartedAt))
	binary.LittleEndian.PutUint64(b[56:64], r.Sequence)
	binary.LittleEndian.PutUint64(b[64:72], r.Cumulative)
	return b
}

// DecodeReceipt reads exactly one receipt.
// Errors: ErrLength, ErrTag.
func DecodeReceipt(b []byte) (Receipt, error) {
	var r Receipt
	if len(b) != ReceiptSize {
		return r, fmt.Errorf("receipt of %d bytes: %w", len(b), ErrLength)
	}
	if string(b[0:8]) != TagReceipt {
		return r, fmt.Errorf("receipt: %w", ErrTag)
	}
	copy(r.Domain[:], b[8:16])
	copy(r.Lease[:], b[16:48])
	r.StartedAt = int64(binary.LittleEndian.Uint64(b[48:56]))
	r.Sequence = binary.LittleEndian.Uint64(b[56:64])
	r.Cumulative = binary.LittleEndian.Uint64(b[64:72])
	return r, nil
}

// Sign signs the receipt's encoding.
func (r Receipt) Sign(s Signer) (solana.Signature, error) {
	b := r.Encode()
	sig, err := s.Sign(b[:])
	if err != nil {
		return sig, fmt.Errorf("sign receipt of lease %s: %w", r.Lease, err)
	}
	return sig, nil
}

// Verify checks a signature over the receipt. Error: ErrSignature.
func (r Receipt) Verify(key solana.PublicKey, sig solana.Signature) error {
	b := r.Encode()
	return verify(key, b[:], sig)
}
