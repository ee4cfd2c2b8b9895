package records

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// AnswerSize is the length of an encoded answer in bytes.
const AnswerSize = 96

// Answer is what a provider signs about its side of a dispute: the text goes to keepers, this says whose it is.
type Answer struct {
	Domain Domain
	Lease  solana.PublicKey
	// OpenedAt names the dispute among those of the lease's address: unix seconds, from its account.
	OpenedAt int64
	// WrittenAt orders answers: the newest counts.
	WrittenAt int64
	Text      Hash // sha256
}

// Encode returns the 96 bytes that are signed: tag 8 ‖ domain 8 ‖ lease 32 ‖ opened at i64 ‖ written at i64 ‖ sha256 of the
// text 32.
func (a Answer) Encode() (out [AnswerSize]byte) {
	copy(out[0:8], TagAnswer)
	copy(out[8:16], a.Domain[:])
	copy(out[16:48], a.Lease[:])
	binary.LittleEndian.PutUint64(out[48:56], uint64(a.OpenedAt))
	binary.LittleEndian.PutUint64(out[56:64], uint64(a.WrittenAt))
	copy(out[64:96], a.Text[:])
	return out
}

// Sign signs with the node's key or the provider's wallet.
func (a Answer) Sign(s Signer) (solana.Signature, error) {
	raw := a.Encode()
	sig, err := s.Sign(raw[:])
	if err != nil {
		return sig, fmt.Errorf("sign the answer about lease %s: %w", a.Lease, err)
	}
	return sig, nil
}

// Verify checks a signature. Error: ErrSignature.
func (a Answer) Verify(key solana.PublicKey, sig solana.Signature) error {
	raw := a.Encode()
	return verify(key, raw[:], sig)
}
