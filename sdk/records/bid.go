package records

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Lengths of a sealed bid's encodings in bytes.
const (
	BidSize        = 128
	CommitmentSize = 40
)

// Bid is a node's sealed bid. Its hash is the commitment, which the node signs before the auction closes; afterwards
// the node reveals price and salt, which cannot change without breaking the hash.
type Bid struct {
	Domain  Domain
	Order   solana.PublicKey // the order account's address
	Node    solana.PublicKey // the node account's address
	CloseAt int64            // when the auction closes, unix seconds: tells one life of the order's address from another
	Price   uint64           // µUSDC per GPU-hour
	Salt    [32]byte         // random, or the price could be guessed from the commitment
}

// Encode returns the 128 bytes that are hashed.
func (b Bid) Encode() [BidSize]byte {
	var out [BidSize]byte
	copy(out[0:8], TagBid)
	copy(out[8:16], b.Domain[:])
	copy(out[16:48], b.Order[:])
	copy(out[48:80], b.Node[:])
	binary.LittleEndian.PutUint64(out[80:88], uint64(b.CloseAt))
	binary.LittleEndian.PutUint64(out[88:96], b.Price)
	copy(out[96:128], b.Salt[:])
	return out
}

// DecodeBid reads exactly one bid. Errors: ErrLength, ErrTag.
func DecodeBid(raw []byte) (Bid, error) {
	var b Bid
	if len(raw) != BidSize {
		return b, fmt.Errorf("bid of %d bytes: %w", len(raw), ErrLength)
	}
	if string(raw[0:8]) != TagBid {
		return b, fmt.Errorf("bid: %w", ErrTag)
	}
	copy(b.Domain[:], raw[8:16])
	copy(b.Order[:], raw[16:48])
	copy(b.Node[:], raw[48:80])
	b.CloseAt = int64(binary.LittleEndian.Uint64(raw[80:88]))
	b.Price = binary.LittleEndian.Uint64(raw[88:96])
	copy(b.Salt[:], raw[96:128])
	return b, nil
}

// Commitment is the bid's hash.
func (b Bid) Commitment() Hash {
	raw := b.Encode()
	return sha256.Sum256(raw[:])
}

// CommitmentMessage is what the node signs: tag ‖ commitment.
func CommitmentMessage(commitment Hash) [CommitmentSize]byte {
	var out [CommitmentSize]byte
	copy(out[0:8], TagBidCommitment)
	copy(out[8:40], commitment[:])
	return out
}

// Sign signs the bid's commitment.
func (b Bid) Sign(s Signer) (solana.Signature, error) {
	message := CommitmentMessage(b.Commitment())
	sig, err := s.Sign(message[:])
	if err != nil {
		return sig, fmt.Errorf("sign bid for order %s: %w", b.Order, err)
	}
	return sig, nil
}

// Verify checks a signature over the bid's commitment. Error: ErrSignature.
func (b Bid) Verify(key solana.PublicKey, sig solana.Signature) error {
	return VerifyCommitment(b.Commitment(), key, sig)
}

// VerifyCommitment checks a signature over a commitment whose bid is not known yet. Error: ErrSignature.
func VerifyCommitment(commitment Hash, key solana.PublicKey, sig solana.Signature) error {
	message := CommitmentMessage(commitment)
	return verify(key, message[:], sig)
}
