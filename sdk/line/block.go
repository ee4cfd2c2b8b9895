package line

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
)

// Seed is what a block is expanded from.
type Seed [SeedBytes]byte

// Expand fills b with the bytes of a seed: AES-256 in counter mode over zeros. They do not compress, and who does not have
// the seed does not have them.
func Expand(seed Seed, b []byte) {
	c, err := aes.NewCipher(seed[:])
	if err != nil {
		panic(err) // a key of 32 bytes is one
	}
	clear(b)
	cipher.NewCTR(c, make([]byte, aes.BlockSize)).XORKeyStream(b, b)
}

// Hash is how a node answers a block that it was sent.
func Hash(block []byte) [HashBytes]byte { return sha256.Sum256(block) }
