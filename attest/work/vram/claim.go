package vram

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

// ClaimSize is the length of an encoded [Claim].
const ClaimSize = 152

const claimTag = "GANTRYV1"

// ErrEncoding is returned for bytes that are no claim or opening.
var ErrEncoding = errors.New("vram: malformed")

// Claim is what a node signs about a sweep before it knows which blocks will be asked for. Layout, little-endian:
//
//	  0  8 tag "GANTRYV1"
//	  8  8 domain (first bytes of the cluster's genesis hash)
//	 16 32 node account
//	 48 32 seed of the fill
//	 80 32 nonce of the sweep
//	112  4 blocks
//	116  4 passes
//	120 32 root
type Claim struct {
	Domain      [8]byte
	Node        [32]byte
	Seed, Nonce [32]byte
	Shape       Shape
	Root        [32]byte
}

// Bytes encodes c.
func (c Claim) Bytes() [ClaimSize]byte {
	var b [ClaimSize]byte
	copy(b[0:], claimTag)
	copy(b[8:], c.Domain[:])
	copy(b[16:], c.Node[:])
	copy(b[48:], c.Seed[:])
	copy(b[80:], c.Nonce[:])
	binary.LittleEndian.PutUint32(b[112:], c.Shape.Blocks)
	binary.LittleEndian.PutUint32(b[116:], c.Shape.Passes)
	copy(b[120:], c.Root[:])
	return b
}

// ParseClaim decodes what [Claim.Bytes] produces and nothing else.
func ParseClaim(b []byte) (Claim, error) {
	var c Claim
	if len(b) != ClaimSize || string(b[:8]) != claimTag {
		return c, fmt.Errorf("%w: no claim in %d bytes", ErrEncoding, len(b))
	}
	copy(c.Domain[:], b[8:])
	copy(c.Node[:], b[16:])
	copy(c.Seed[:], b[48:])
	copy(c.Nonce[:], b[80:])
	c.Shape = Shape{Blocks: binary.LittleEndian.Uint32(b[112:]), Passes: binary.LittleEndian.Uint32(b[116:])}
	copy(c.Root[:], b[120:])
	if err := c.Shape.Check(); err != nil {
		return Claim{}, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	return c, nil
}

// Sign signs c with the node's key.
func (c Claim) Sign(key ed25519.PrivateKey) [64]byte {
	b := c.Bytes()
	return [64]byte(ed25519.Sign(key, b[:]))
}

// Signed reports whether signature is the node key's over c.
func (c Claim) Signed(nodeKey ed25519.PublicKey, signature [64]byte) bool {
	b := c.Bytes()
	return len(nodeKey) == ed25519.PublicKeySize && ed25519.Verify(nodeKey, b[:], signature[:])
}

// Opening shows the digest of one block and its path to the root.
type Opening struct {
	Index    uint32
	Digest   [32]byte
	Siblings [][32]byte
}

// openingFixed is index 4, digest 32, sibling count 1.
const openingFixed = 4 + 32 + 1

// Bytes encodes o: index u32le, digest, sibling count u8, siblings.
func (o Opening) Bytes() []byte {
	b := make([]byte, 0, openingFixed+32*len(o.Siblings))
	b = binary.LittleEndian.AppendUint32(b, o.Index)
	b = append(b, o.Digest[:]...)
	b = append(b, byte(len(o.Siblings)))
	for i := range o.Siblings {
		b = append(b, o.Siblings[i][:]...)
	}
	return b
}

// ParseOpening decodes an opening in a sweep of some blocks. There is one encoding only.
func ParseOpening(b []byte, blocks uint32) (Opening, error) {
	var o Opening
	if blocks == 0 || blocks > MaxBlocks || len(b) < openingFixed {
		return o, fmt.Errorf("%w: opening of %d bytes in %d blocks", ErrEncoding, len(b), blocks)
	}
	o.Index = binary.LittleEndian.Uint32(b)
	if o.Index >= blocks {
		return Opening{}, fmt.Errorf("%w: block %d of %d", ErrEncoding, o.Index, blocks)
	}
	want := tree.PathLength(int(o.Index), int(blocks))
	if int(b[openingFixed-1]) != want || len(b) != openingFixed+32*want {
		return Opening{}, fmt.Errorf("%w: opening has %d bytes, want %d siblings", ErrEncoding, len(b), want)
	}
	copy(o.Digest[:], b[4:])
	o.Siblings = make([][32]byte, want)
	for i := range o.Siblings {
		copy(o.Siblings[i][:], b[openingFixed+32*i:])
	}
	return o, nil
}
