package records

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// AckSize is the length of an encoded acknowledgement in bytes.
const AckSize = 48

// AckStage is what of a bid a keeper acknowledges.
type AckStage uint8

// The stages. Only an acknowledged reveal shows that the keeper could have awarded the bid.
const (
	AckCommitment AckStage = 1
	AckReveal     AckStage = 2
)

// String returns the stage's name, or a number for an unknown one.
func (s AckStage) String() string {
	switch s {
	case AckCommitment:
		return "commitment"
	case AckReveal:
		return "reveal"
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// Ack is a keeper's signed record that a bid's commitment or reveal reached it. The bid's hash holds the cluster, the
// order, the node and the auction's close, so that an acknowledgement means one bid of one auction.
type Ack struct {
	Stage      AckStage
	Commitment Hash  // the bid's hash
	ReceivedAt int64 // unix seconds
}

func (a Ack) tag() (string, error) {
	switch a.Stage {
	case AckCommitment:
		return TagCommitmentAck, nil
	case AckReveal:
		return TagRevealAck, nil
	}
	return "", fmt.Errorf("acknowledgement of %s: %w", a.Stage, ErrValue)
}

// Encode returns the 48 bytes that are signed: tag 8 ‖ commitment 32 ‖ received at i64. Error: ErrValue for an unknown
// stage.
func (a Ack) Encode() ([AckSize]byte, error) {
	var out [AckSize]byte
	tag, err := a.tag()
	if err != nil {
		return out, err
	}
	copy(out[0:8], tag)
	copy(out[8:40], a.Commitment[:])
	binary.LittleEndian.PutUint64(out[40:48], uint64(a.ReceivedAt))
	return out, nil
}

// DecodeAck reads exactly one acknowledgement. Errors: ErrLength, ErrTag.
func DecodeAck(raw []byte) (Ack, error) {
	var a Ack
	if len(raw) != AckSize {
		return a, fmt.Errorf("acknowledgement of %d bytes: %w", len(raw), ErrLength)
	}
	switch string(raw[0:8]) {
	case TagCommitmentAck:
		a.Stage = AckCommitment
	case TagRevealAck:
		a.Stage = AckReveal
	default:
		return a, fmt.Errorf("acknowledgement: %w", ErrTag)
	}
	copy(a.Commitment[:], raw[8:40])
	a.ReceivedAt = int64(binary.LittleEndian.Uint64(raw[40:48]))
	return a, nil
}

// Sign signs the acknowledgement with the key of the keeper's signer. Error: ErrValue for an unknown stage.
func (a Ack) Sign(s Signer) (solana.Signature, error) {
	raw, err := a.Encode()
	if err != nil {
		return solana.Signature{}, err
	}
	sig, err := s.Sign(raw[:])
	if err != nil {
		return sig, fmt.Errorf("acknowledge %s of bid %x: %w", a.Stage, a.Commitment[:4], err)
	}
	return sig, nil
}

// Verify checks a keeper's signature over the acknowledgement. Errors: ErrSignature, ErrValue for an unknown stage.
func (a Ack) Verify(keeper solana.PublicKey, sig solana.Signature) error {
	raw, err := a.Encode()
	if err != nil {
		return err
	}
	return verify(keeper, raw[:], sig)
}
