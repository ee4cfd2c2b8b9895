package vram

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/blake2s"
)

const (
	// LabelSize is the length of a label.
	LabelSize = 32
	// BlockLabels is the number of labels in a block.
	BlockLabels = 2048
	// BlockSize is the length of a block: 64 KiB.
	BlockSize = LabelSize * BlockLabels
	// MaxBlocks bounds a fill to 1 TiB.
	MaxBlocks = 1 << 24
	// MaxPasses bounds what a verifier computes for one block.
	MaxPasses = 1024
	// DefaultPasses makes recomputing slow enough against reading, at some 25 to 50 ms of a processor core for each
	// block that a verifier checks.
	DefaultPasses = 128

	fillTag  = "gantryVF"
	sweepTag = "gantryVS"
)

// ErrShape is returned for a shape out of bounds.
var ErrShape = errors.New("vram: shape out of bounds")

// Shape is the size of a fill and the work in it.
type Shape struct {
	// Blocks of 64 KiB, 1 to [MaxBlocks].
	Blocks uint32
	// Passes over each block, 1 to [MaxPasses].
	Passes uint32
}

// Check returns [ErrShape] unless s is usable.
func (s Shape) Check() error {
	if s.Blocks == 0 || s.Blocks > MaxBlocks || s.Passes == 0 || s.Passes > MaxPasses {
		return fmt.Errorf("%w: %d blocks, %d passes", ErrShape, s.Blocks, s.Passes)
	}
	return nil
}

// Bytes is the memory that s fills.
func (s Shape) Bytes() uint64 { return uint64(s.Blocks) * BlockSize }

// ShapeFor is the largest shape within a number of bytes.
func ShapeFor(bytes uint64, passes uint32) Shape {
	return Shape{Blocks: uint32(min(bytes/BlockSize, MaxBlocks)), Passes: passes}
}

// header is the 64 bytes that open a block's first label and its digest.
func header(key *[32]byte, tag string, index uint32) (m [64]byte) {
	copy(m[:], key[:])
	copy(m[32:], tag)
	binary.LittleEndian.PutUint64(m[40:], uint64(index))
	return m
}

// fillBlock computes one block into dst, which has [BlockSize] bytes.
func fillBlock(dst []byte, seed *[32]byte, index, passes uint32) {
	m := header(seed, fillTag, index)
	h := blake2s.Sum256(m[:])
	copy(dst, h[:])
	for j := uint32(1); j < BlockLabels; j++ {
		step(&m, &h, dst, j)
		h = blake2s.Sum256(m[:])
		copy(dst[j*LabelSize:], h[:])
	}
	for p := uint32(1); p < passes; p++ {
		for j := uint32(0); j < BlockLabels; j++ {
			step(&m, &h, dst, BlockLabels)
			xorLabel(m[32:], dst[j*LabelSize:])
			h = blake2s.Sum256(m[:])
			copy(dst[j*LabelSize:], h[:])
		}
	}
}

// step prepares the message of the next label: h ‖ M[a] ⊕ M[b], with a and b below limit.
func step(m *[64]byte, h *[32]byte, block []byte, limit uint32) {
	copy(m[:32], h[:])
	a := uint64(binary.LittleEndian.Uint32(h[0:])) * uint64(limit) >> 32
	b := uint64(binary.LittleEndian.Uint32(h[4:])) * uint64(limit) >> 32
	copy(m[32:], block[a*LabelSize:a*LabelSize+LabelSize])
	xorLabel(m[32:], block[b*LabelSize:])
}

func xorLabel(dst, src []byte) {
	for i := 0; i < LabelSize; i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(dst[i:])^binary.LittleEndian.Uint64(src[i:]))
	}
}

// digestBlock is D[index] under a sweep's nonce.
func digestBlock(block []byte, nonce *[32]byte, index uint32) [32]byte {
	d, err := blake2s.New256(nil)
	if err != nil {
		panic("vram: blake2s without a key: " + err.Error()) // only a key can be wrong, and there is none
	}
	m := header(nonce, sweepTag, index)
	d.Write(m[:])
	d.Write(block)
	return [32]byte(d.Sum(nil))
}

// Block computes one block of a fill, as a verifier does: passes·2048 hashes.
func Block(seed [32]byte, index, passes uint32) ([]byte, error) {
	if err := (Shape{Blocks: MaxBlocks, Passes: passes}).Check(); err != nil {
		return nil, err
	}
	if index >= MaxBlocks {
		return nil, fmt.Errorf("%w: block %d", ErrShape, index)
	}
	b := make([]byte, BlockSize)
	fillBlock(b, &seed, index, passes)
	return b, nil
}

// Digest is what a sweep with nonce says about a block of [BlockSize] bytes.
func Digest(block []byte, nonce [32]byte, index uint32) ([32]byte, error) {
	if len(block) != BlockSize {
		return [32]byte{}, fmt.Errorf("%w: block of %d bytes", ErrShape, len(block))
	}
	return digestBlock(block, &nonce, index), nil
}
