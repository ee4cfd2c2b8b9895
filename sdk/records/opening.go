package records

import (
	"crypto/sha256"

	"github.com/gagliardetto/solana-go"
)

// OpeningSize is the length of an encoded opening in bytes.
const OpeningSize = TagSize + 32 + 32 + 1 + 1 + 32

// Opening is what a node answers when a draw of a measurement's commitment is to be opened. The node signs it, so that anyone
// can check an answer that is wrong, and not only the keeper that got it.
type Opening struct {
	// Commitment is SHA-256 of the signed commitment, which names cluster, node and instant.
	Commitment [32]byte
	// Challenge is what the draw is made of, GPU which one is opened.
	Challenge [32]byte
	GPU       uint8
	// Refused is why nothing is opened (messages.MeasureRefusal); 0 for an answer.
	Refused uint8
	// Answer is SHA-256 of what is opened.
	Answer [32]byte
}

// NewOpening makes the opening of a commitment's bytes.
func NewOpening(commitment []byte, challenge [32]byte, gpu, refused uint8, answer []byte) Opening {
	return Opening{Commitment: sha256.Sum256(commitment), Challenge: challenge, GPU: gpu, Refused: refused, Answer: sha256.Sum256(answer)}
}

// Encode returns the 106 bytes that are signed: tag 8, commitment 32, challenge 32, GPU u8, refusal u8, answer 32.
func (o Opening) Encode() (b [OpeningSize]byte) {
	copy(b[:8], TagOpening)
	copy(b[8:40], o.Commitment[:])
	copy(b[40:72], o.Challenge[:])
	b[72], b[73] = o.GPU, o.Refused
	copy(b[74:], o.Answer[:])
	return b
}

// Sign signs the opening with the node's key.
func (o Opening) Sign(s Signer) (solana.Signature, error) {
	b := o.Encode()
	return s.Sign(b[:])
}

// Verify checks the node's signature. Error: ErrSignature.
func (o Opening) Verify(node solana.PublicKey, sig solana.Signature) error {
	b := o.Encode()
	return verify(node, b[:], sig)
}
