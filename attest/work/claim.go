package work

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
)

// ClaimSize is the length of an encoded [Claim].
const ClaimSize = 128

const claimTag = "GANTRYW1"

// ErrClaim is returned for bytes that are no work claim.
var ErrClaim = errors.New("work: malformed claim")

// Claim is a work claim: what a node signs about a product before anything of it is checked. Layout, little-endian:
//
//	 0  8 tag "GANTRYW1"
//	 8  8 domain (first bytes of the cluster's genesis hash)
//	16 32 node account
//	48  8 period
//	56 32 seed
//	88  4 n
//	92  4 reserved, zero
//	96 32 root
//
// Signed by the node key, it is the first half of a fraud proof. The second half is a [ChunkOpening] whose entry
// differs from [Cell].
type Claim struct {
	Domain [8]byte
	Node   [32]byte
	Period uint64
	Seed   Seed
	N      uint32
	Root   Hash
}

// Bytes encodes c.
func (c Claim) Bytes() [ClaimSize]byte {
	var b [ClaimSize]byte
	copy(b[0:], claimTag)
	copy(b[8:], c.Domain[:])
	copy(b[16:], c.Node[:])
	binary.LittleEndian.PutUint64(b[48:], c.Period)
	copy(b[56:], c.Seed[:])
	binary.LittleEndian.PutUint32(b[88:], c.N)
	copy(b[96:], c.Root[:])
	return b
}

// ParseClaim decodes b and refuses anything that [Claim.Bytes] would not produce.
func ParseClaim(b []byte) (Claim, error) {
	var c Claim
	if len(b) != ClaimSize {
		return c, fmt.Errorf("%w: %d bytes, want %d", ErrClaim, len(b), ClaimSize)
	}
	if string(b[:8]) != claimTag {
		return c, fmt.Errorf("%w: unknown tag", ErrClaim)
	}
	if binary.LittleEndian.Uint32(b[92:]) != 0 {
		return c, fmt.Errorf("%w: reserved bytes are not zero", ErrClaim)
	}
	copy(c.Domain[:], b[8:])
	copy(c.Node[:], b[16:])
	c.Period = binary.LittleEndian.Uint64(b[48:])
	copy(c.Seed[:], b[56:])
	c.N = binary.LittleEndian.Uint32(b[88:])
	copy(c.Root[:], b[96:])
	if err := CheckOrder(int(c.N)); err != nil {
		return c, fmt.Errorf("%w: %w", ErrClaim, err)
	}
	return c, nil
}

// Sign signs c with the node's key.
func (c Claim) Sign(key ed25519.PrivateKey) [64]byte {
	b := c.Bytes()
	return [64]byte(ed25519.Sign(key, b[:]))
}

// Verify reports whether signature is the node key's over c.
func (c Claim) Verify(nodeKey ed25519.PublicKey, signature [64]byte) bool {
	if len(nodeKey) != ed25519.PublicKeySize {
		return false
	}
	b := c.Bytes()
	return ed25519.Verify(nodeKey, b[:], signature[:])
}
