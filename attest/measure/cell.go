package measure

import (
	"crypto/sha256"
	"encoding/binary"
)

// Constants of the expansion and of the bytes of cells.
const (
	wordStep   = 0x9E3779B9
	wordFactor = 0x846CA68B
	cellFactor = 0x9E3779B1
	mixStart   = 0x85EBCA6B
)

// Key is what a row of A or a column of B is expanded from.
type Key struct{ K0, K1 uint32 }

// RowKey is the key of a row of A (seed is the round's) or of a column of B (seed is [Place.ColumnSeed]).
func RowKey(seed Hash, index uint32) Key {
	var m [68]byte
	copy(m[:], tagRow[:])
	copy(m[32:], seed[:])
	binary.LittleEndian.PutUint32(m[64:], index)
	h := sha256.Sum256(m[:])
	return Key{binary.LittleEndian.Uint32(h[:]), binary.LittleEndian.Uint32(h[4:])}
}

// Word is four entries of a row, the first in the lowest byte.
func (k Key) Word(w uint32) uint32 {
	x := k.K0 + w*wordStep
	x = (x ^ x>>16) * (k.K1 | 1)
	x = (x ^ x>>15) * wordFactor
	return x ^ x>>16
}

// Expand fills row, of a multiple of four entries.
func (k Key) Expand(row []int8) {
	for w := range len(row) / 4 {
		x := k.Word(uint32(w))
		r := row[4*w : 4*w+4]
		r[0], r[1], r[2], r[3] = int8(x), int8(x>>8), int8(x>>16), int8(x>>24)
	}
}

// Dot is an entry of a product: the sum over a row of A times a column of B.
func Dot(row, column []int8) int32 {
	var c int32
	for i, a := range row {
		c += int32(a) * int32(column[i])
	}
	return c
}

// Kept is the byte of an entry that stays in memory.
func Kept(c int32) byte {
	x := uint32(c)
	return byte((x ^ x>>15) * cellFactor >> 24)
}

// Mixed is the byte of a group of neighbouring entries that the round's tree is over.
func Mixed(group []int32) byte {
	h := uint32(mixStart)
	for _, c := range group {
		h = (h ^ uint32(c)) * cellFactor
		h ^= h >> 15
	}
	return byte(h >> 24)
}
