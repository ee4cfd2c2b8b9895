package wire

import (
	"crypto/ed25519"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Signer signs bytes with one ed25519 key. solana.PrivateKey is a Signer.
type Signer interface {
	PublicKey() solana.PublicKey
	Sign(message []byte) (solana.Signature, error)
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
