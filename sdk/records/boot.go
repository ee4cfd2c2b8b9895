package records

import (
	"encoding/binary"

	"github.com/gagliardetto/solana-go"
)

// BootSize is the length of an encoded boot record in bytes.
const BootSize = 72

// BootID is random and drawn when an agent's process begins.
type BootID [16]byte

// Boot says which process answers for a node's key. The nonce is of who asks, so that a record of a process that has
// ended says nothing.
type Boot struct {
	Domain   Domain
	Nonce    Hash
	ID       BootID
	UpMillis uint64 // how long the process has run
}

// Encode returns the 72 bytes that are signed: tag 8 ‖ domain 8 ‖ nonce 32 ‖ id 16 ‖ up u64.
func (b Boot) Encode() [BootSize]byte {
	var out [BootSize]byte
	copy(out[0:8], TagBoot)
	copy(out[8:16], b.Domain[:])
	copy(out[16:48], b.Nonce[:])
	copy(out[48:64], b.ID[:])
	binary.LittleEndian.PutUint64(out[64:72], b.UpMillis)
	return out
}

// Sign signs the record with the node's key.
func (b Boot) Sign(s Signer) (solana.Signature, error) {
	raw := b.Encode()
	return s.Sign(raw[:])
}

// Verify checks the signature of a node's key. Error: ErrSignature.
func (b Boot) Verify(key solana.PublicKey, sig solana.Signature) error {
	raw := b.Encode()
	return verify(key, raw[:], sig)
}
