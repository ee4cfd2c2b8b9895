package records

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
)

// ConsentSize is the length of an encoded consent in bytes.
const ConsentSize = TagSize + 8 + 32 + 8

// Consent is what a key signs to sign for the keeper of a wallet on one cluster. Without it nobody can name the key, so
// that what it signs for one keeper never counts for another. The program takes none that holds for longer than a
// keeper's bond needs to leave, so that it names the key once.
type Consent struct {
	Domain Domain
	Wallet solana.PublicKey
	Until  time.Time // exclusive, on the chain's clock; whole seconds
}

// Encode returns the 56 bytes that are signed: tag 8 ‖ domain 8 ‖ wallet 32 ‖ until i64.
func (c Consent) Encode() (b [ConsentSize]byte) {
	copy(b[:8], TagConsent)
	copy(b[8:16], c.Domain[:])
	copy(b[16:48], c.Wallet[:])
	binary.LittleEndian.PutUint64(b[48:], uint64(c.Until.Unix()))
	return b
}

// DecodeConsent reads exactly one consent. Errors: ErrLength, ErrTag.
func DecodeConsent(b []byte) (Consent, error) {
	if len(b) != ConsentSize {
		return Consent{}, fmt.Errorf("consent of %d bytes: %w", len(b), ErrLength)
	}
	if string(b[:8]) != TagConsent {
		return Consent{}, fmt.Errorf("consent: %w", ErrTag)
	}
	until := time.Unix(int64(binary.LittleEndian.Uint64(b[48:])), 0).UTC()
	return Consent{Domain: Domain(b[8:16]), Wallet: solana.PublicKeyFromBytes(b[16:48]), Until: until}, nil
}

// Sign signs the consent with the key that is to sign for the keeper.
func (c Consent) Sign(s Signer) (solana.Signature, error) {
	b := c.Encode()
	sig, err := s.Sign(b[:])
	if err != nil {
		return sig, fmt.Errorf("agree to sign for keeper %s: %w", c.Wallet, err)
	}
	return sig, nil
}

// Verify checks a key's consent. Error: ErrSignature.
func (c Consent) Verify(signer solana.PublicKey, sig solana.Signature) error {
	b := c.Encode()
	return verify(signer, b[:], sig)
}
