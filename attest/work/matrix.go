package work

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// ChunkEntries is the number of entries in one hash of a factor and in one leaf of the Merkle tree.
	ChunkEntries = 32
	// MaxN is the largest order: a product of 64 MiB.
	MaxN = 4096

	sideA = 'A'
	sideB = 'B'
)

// ErrOrder is returned for an order that is not a positive multiple of 32 up to [MaxN] (or up to the limit that a
// verifier set).
var ErrOrder = errors.New("work: order must be a multiple of 32 between 32 and 4096")

// CheckOrder returns [ErrOrder] unless n is usable.
func CheckOrder(n int) error {
	if n < ChunkEntries || n > MaxN || n%ChunkEntries != 0 {
		return fmt.Errorf("%w: got %d", ErrOrder, n)
	}
	return nil
}

// Bound is the largest absolute value an entry of an order-n product can have: n products of two int8, each at most
// 2¹⁴.
func Bound(n int) int32 { return int32(n) << 14 }

// deriveLine fills dst, whose length is a multiple of 32, with row index of A or column index of B.
func deriveLine(dst []int8, seed *Seed, side byte, index uint32) {
	var m [41]byte
	copy(m[:], seed[:])
	m[32] = side
	binary.LittleEndian.PutUint32(m[33:], index)
	for b := 0; b*ChunkEntries < len(dst); b++ {
		binary.LittleEndian.PutUint32(m[37:], uint32(b))
		h := sha256.Sum256(m[:])
		part := dst[b*ChunkEntries : b*ChunkEntries+ChunkEntries]
		for t, v := range h {
			part[t] = int8(v)
		}
	}
}

// Cell computes one entry of the product, as the program does on chain.
func Cell(seed Seed, n, row, col int) (int32, error) {
	if err := CheckOrder(n); err != nil {
		return 0, err
	}
	if row < 0 || row >= n || col < 0 || col >= n {
		return 0, fmt.Errorf("work: cell (%d, %d) is outside of a product of order %d", row, col, n)
	}
	line := make([]int8, 2*n)
	a, b := line[:n], line[n:]
	deriveLine(a, &seed, sideA, uint32(row))
	deriveLine(b, &seed, sideB, uint32(col))
	return dot(a, b), nil
}

func dot(a, b []int8) int32 {
	b = b[:len(a)]
	var s int32
	for k, v := range a {
		s += int32(v) * int32(b[k])
	}
	return s
}
