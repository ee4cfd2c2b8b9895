package work

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

// ChunkOpening shows 32 entries of a claimed product and their path to the root: first the siblings within the row's
// tree, then those of the row. It is the second half of prove_bad_work.
type ChunkOpening struct {
	Row, Chunk uint32
	Values     [ChunkEntries]int32
	Siblings   []Hash
}

// RowOpening shows one row and its path.
type RowOpening struct {
	Row      uint32
	Values   []int32
	Siblings []Hash
}

// openingFixed is row 4, chunk 4, values 128, sibling count 1.
const openingFixed = 4 + 4 + chunkBytes + 1

// Bytes encodes o: row u32, chunk u32, 32 entries i32le, sibling count u8, siblings.
func (o ChunkOpening) Bytes() []byte {
	b := make([]byte, openingFixed, openingFixed+32*len(o.Siblings))
	binary.LittleEndian.PutUint32(b[0:], o.Row)
	binary.LittleEndian.PutUint32(b[4:], o.Chunk)
	encodeEntries(b[8:], o.Values[:])
	b[openingFixed-1] = byte(len(o.Siblings))
	for i := range o.Siblings {
		b = append(b, o.Siblings[i][:]...)
	}
	return b
}

// ParseChunkOpening decodes an opening of a product of order n. The number of siblings must be the one that the
// position has; there is one encoding only.
func ParseChunkOpening(b []byte, n int) (ChunkOpening, error) {
	var o ChunkOpening
	if err := CheckOrder(n); err != nil {
		return o, err
	}
	if len(b) < openingFixed {
		return o, fmt.Errorf("%w: opening of %d bytes", ErrEncoding, len(b))
	}
	row, chunk := binary.LittleEndian.Uint32(b[0:]), binary.LittleEndian.Uint32(b[4:])
	if int64(row) >= int64(n) || int64(chunk) >= int64(n/ChunkEntries) {
		return o, fmt.Errorf("%w: chunk (%d, %d) is outside of a product of order %d", ErrEncoding, row, chunk, n)
	}
	want := tree.PathLength(int(chunk), n/ChunkEntries) + tree.PathLength(int(row), n)
	if count := int(b[openingFixed-1]); count != want || len(b) != openingFixed+32*want {
		return o, fmt.Errorf("%w: opening has %d siblings in %d bytes, want %d siblings", ErrEncoding, count, len(b), want)
	}
	o.Row, o.Chunk = row, chunk
	for k := range o.Values {
		o.Values[k] = int32(binary.LittleEndian.Uint32(b[8+4*k:]))
	}
	o.Siblings = make([]Hash, want)
	for i := range o.Siblings {
		copy(o.Siblings[i][:], b[openingFixed+32*i:])
	}
	return o, nil
}

// OpenChunk opens 32 entries of the product.
func (p *Proof) OpenChunk(row, chunk int) (ChunkOpening, error) {
	if row < 0 || row >= p.N || chunk < 0 || chunk >= p.N/ChunkEntries {
		return ChunkOpening{}, fmt.Errorf("work: chunk (%d, %d) is outside of a product of order %d", row, chunk, p.N)
	}
	return openChunk(p.rowRoots, p.Row(row), row, chunk), nil
}

func openChunk(rowRoots []Hash, values []int32, row, chunk int) ChunkOpening {
	raw := make([]byte, 4*len(values))
	encodeEntries(raw, values)
	leaves := chunkHashes(nil, raw)
	o := ChunkOpening{Row: uint32(row), Chunk: uint32(chunk)}
	copy(o.Values[:], values[chunk*ChunkEntries:])
	o.Siblings = append(tree.Path(leaves, chunk), tree.Path(rowRoots, row)...)
	return o
}

// OpenRow opens one row of the product.
func (p *Proof) OpenRow(row int) (RowOpening, error) {
	if row < 0 || row >= p.N {
		return RowOpening{}, fmt.Errorf("work: row %d is outside of a product of order %d", row, p.N)
	}
	return RowOpening{
		Row:      uint32(row),
		Values:   append([]int32(nil), p.Row(row)...),
		Siblings: tree.Path(p.rowRoots, row),
	}, nil
}

// CheckPath checks that o leads to the root; it says nothing about the values.
func CheckPath(n int, root Hash, o ChunkOpening) error {
	if err := CheckOrder(n); err != nil {
		return err
	}
	if int64(o.Row) >= int64(n) || int64(o.Chunk) >= int64(n/ChunkEntries) {
		return fmt.Errorf("%w: chunk (%d, %d) is outside of a product of order %d", ErrEncoding, o.Row, o.Chunk, n)
	}
	var raw [chunkBytes]byte
	encodeEntries(raw[:], o.Values[:])
	rowRoot, rest, ok := tree.Climb(hashChunk(raw[:]), int(o.Chunk), n/ChunkEntries, o.Siblings)
	if !ok {
		return ErrRoot
	}
	top, rest, ok := tree.Climb(rowRoot, int(o.Row), n, rest)
	if !ok || len(rest) != 0 || top != root {
		return ErrRoot
	}
	return nil
}

// VerifyChunk checks that o belongs to the root and that its 32 entries are those of the product, by computing them. A
// wrong entry gives [*WrongEntryError].
func VerifyChunk(seed Seed, n int, root Hash, o ChunkOpening) error {
	if err := CheckPath(n, root, o); err != nil {
		return err
	}
	a, b := make([]int8, n), make([]int8, n)
	deriveLine(a, &seed, sideA, o.Row)
	for k, got := range o.Values {
		col := o.Chunk*ChunkEntries + uint32(k)
		deriveLine(b, &seed, sideB, col)
		if want := dot(a, b); want != got {
			return &WrongEntryError{Row: int(o.Row), Col: int(col), Got: got, Want: want, Opening: o}
		}
	}
	return nil
}

// VerifyRow checks that o belongs to the root and that its entries are those of the product, by computing them: n²/32
// hashes and n² products.
func VerifyRow(seed Seed, n int, root Hash, o RowOpening) error {
	if err := CheckOrder(n); err != nil {
		return err
	}
	if int64(o.Row) >= int64(n) || len(o.Values) != n {
		return fmt.Errorf("%w: row %d with %d entries in a product of order %d", ErrEncoding, o.Row, len(o.Values), n)
	}
	raw := make([]byte, 4*n)
	encodeEntries(raw, o.Values)
	top, rest, ok := tree.Climb(tree.Root(chunkHashes(nil, raw)), int(o.Row), n, o.Siblings)
	if !ok || len(rest) != 0 || top != root {
		return ErrRoot
	}
	if col, want, wrong := findWrong(&seed, int(o.Row), o.Values); wrong {
		return &WrongEntryError{Row: int(o.Row), Col: col, Got: o.Values[col], Want: want, Opening: openRowChunk(o, col)}
	}
	return nil
}

// openRowChunk narrows a row opening to the chunk that holds col.
func openRowChunk(o RowOpening, col int) ChunkOpening {
	raw := make([]byte, 4*len(o.Values))
	encodeEntries(raw, o.Values)
	chunk := col / ChunkEntries
	c := ChunkOpening{Row: o.Row, Chunk: uint32(chunk)}
	copy(c.Values[:], o.Values[chunk*ChunkEntries:])
	c.Siblings = append(tree.Path(chunkHashes(nil, raw), chunk), o.Siblings...)
	return c
}

// findWrong returns the first entry of a row that is not the product's.
func findWrong(seed *Seed, row int, values []int32) (col int, want int32, wrong bool) {
	n := len(values)
	a, b := make([]int8, n), make([]int8, n)
	deriveLine(a, seed, sideA, uint32(row))
	for j, got := range values {
		deriveLine(b, seed, sideB, uint32(j))
		if v := dot(a, b); v != got {
			return j, v, true
		}
	}
	return 0, 0, false
}

// Sample draws k distinct numbers below count from the root and the verifier's bytes, in increasing order: rows or
// chunks to open. It must be called only after the claim is known.
func Sample(root Hash, secret [32]byte, count, k int) []int {
	if k > count {
		k = count
	}
	seen := make(map[int]bool, k)
	out := make([]int, 0, k)
	m := append([]byte("gantry-sample"), root[:]...)
	m = append(m, secret[:]...)
	base := len(m)
	for c := uint64(0); len(out) < k; c++ {
		h := sha256.Sum256(binary.LittleEndian.AppendUint64(m[:base], c))
		// 64 bits against a count of at most 2¹⁹ leaves a bias under 2⁻⁴⁵.
		v := int(binary.LittleEndian.Uint64(h[:]) % uint64(count))
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	sort.Ints(out)
	return out
}

// MissProbability is the chance that k samples out of many see none of a wrong fraction: (1−fraction)^k. Drawing
// without repetition only lowers it.
func MissProbability(fraction float64, k int) float64 {
	return math.Pow(1-fraction, float64(k))
}
