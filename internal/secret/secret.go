// Package secret makes the secrets that requests show, and the hashes that servers keep of them.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// New makes a secret of 256 random bits. The prefix lets scanners for secrets find those that were published by mistake.
func New(prefix string) (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("random number: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// Hash is what is kept of a secret. With so many random bits one pass of sha256 is enough: they cannot be tried.
func Hash(text string) [32]byte { return sha256.Sum256([]byte(text)) }
