package records

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// ErrRefused: what holds the key does not sign such a message, however often it is asked.
var ErrRefused = errors.New("the signer refuses")

// Signer signs bytes with one ed25519 key. solana.PrivateKey is a Signer.
type Signer interface {
	PublicKey() solana.PublicKey
	Sign(message []byte) (solana.Signature, error)
}

// ReadySigner is a Signer whose key was checked and whose public key was computed once: solana.PrivateKey does both at
// every call, 80 µs that add up where thousands of things are signed or compared with one's own key.
type ReadySigner struct {
	public  solana.PublicKey
	private ed25519.PrivateKey
}

// NewSigner checks a key.
func NewSigner(key solana.PrivateKey) (*ReadySigner, error) {
	if err := key.Validate(); err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return &ReadySigner{key.PublicKey(), ed25519.PrivateKey(key)}, nil
}

// PublicKey implements Signer.
func (s *ReadySigner) PublicKey() solana.PublicKey { return s.public }

// Sign implements Signer.
func (s *ReadySigner) Sign(message []byte) (solana.Signature, error) {
	return solana.SignatureFromBytes(ed25519.Sign(s.private, message)), nil
}

// verify checks an ed25519 signature without trusting lengths of its inputs.
func verify(key solana.PublicKey, message []byte, sig solana.Signature) error {
	if key.IsZero() || !ed25519.Verify(ed25519.PublicKey(key[:]), message, sig[:]) {
		return fmt.Errorf("key %s: %w", key, ErrSignature)
	}
	return nil
}

// allZero reports whether every byte is zero.
func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
