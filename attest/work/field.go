package work

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Arithmetic modulo the Mersenne prime p = 2⁶¹−1. Elements are below p.
//
// Sums of many small products avoid reduction: an element is split in a low half of 31 bits and a high half of 30, and
// each half is multiplied and summed as a plain int64.
const (
	prime    = 1<<61 - 1
	halfBits = 31
	halfMask = 1<<halfBits - 1
)

// halves is a field vector split for products with small integers.
type halves struct{ lo, hi []int64 }

func newHalves(n int) halves {
	buf := make([]int64, 2*n)
	return halves{lo: buf[:n:n], hi: buf[n:]}
}

// reduceSigned maps any int64 into the field.
func reduceSigned(v int64) uint64 {
	if v >= 0 {
		return reduce(uint64(v))
	}
	r := reduce(uint64(-v)) // −MinInt64 wraps to 2⁶³, which is its magnitude
	if r == 0 {
		return 0
	}
	return prime - r
}

func reduce(v uint64) uint64 {
	v = v>>61 + v&prime
	if v >= prime {
		v -= prime
	}
	return v
}

func addMod(a, b uint64) uint64 {
	s := a + b
	if s >= prime {
		s -= prime
	}
	return s
}

func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	// a·b = hi·2⁶⁴ + lo, and 2⁶¹ ≡ 1.
	return addMod(reduce(lo), reduce(hi<<3))
}

// joinSums turns a low and a high sum back into one element.
func joinSums(lo, hi int64) uint64 {
	return addMod(reduceSigned(lo), mulMod(reduceSigned(hi), 1<<halfBits))
}

func (h halves) set(i int, v uint64) {
	h.lo[i] = int64(v & halfMask)
	h.hi[i] = int64(v >> halfBits)
}

// drawVector expands root, order, seed and the verifier's bytes into n field elements: SHA-256 in counter mode, four
// 61-bit words a hash, p read as 0.
func drawVector(seed *Seed, n int, root *Hash, secret *[32]byte) halves {
	x := newHalves(n)
	const tag = "gantry-freivalds"
	m := make([]byte, 0, 128)
	m = append(m, tag...)
	m = append(m, seed[:]...)
	m = binary.LittleEndian.AppendUint32(m, uint32(n))
	m = append(m, root[:]...)
	m = append(m, secret[:]...)
	base := len(m)
	for i := 0; i < n; i += 4 {
		h := sha256.Sum256(binary.LittleEndian.AppendUint32(m[:base], uint32(i/4)))
		for k := 0; k < 4; k++ { // n is a multiple of 32
			v := binary.LittleEndian.Uint64(h[8*k:]) & prime
			if v == prime {
				v = 0
			}
			x.set(i+k, v)
		}
	}
	return x
}

// dotBytes returns a·y. Sums stay below 4096·2⁷·2³¹ = 2⁵⁰.
func dotBytes(a []int8, y halves) uint64 {
	lo, hi := y.lo[:len(a)], y.hi[:len(a)]
	var sl, sh int64
	for k, v := range a {
		sl += int64(v) * lo[k]
		sh += int64(v) * hi[k]
	}
	return joinSums(sl, sh)
}

// addScaled adds b·(lo, hi) to the sums, entry by entry.
func addScaled(sums halves, b []int8, lo, hi int64) {
	sl, sh := sums.lo[:len(b)], sums.hi[:len(b)]
	for k, v := range b {
		sl[k] += int64(v) * lo
		sh[k] += int64(v) * hi
	}
}

// dotEntries returns c·x for entries within [Bound]. A chunk's sums stay below 32·2²⁶·2³¹ = 2⁶²; after each chunk they
// are reduced.
func dotEntries(c []int32, x halves) uint64 {
	var total uint64
	for off := 0; off < len(c); off += ChunkEntries {
		part := c[off : off+ChunkEntries]
		lo, hi := x.lo[off:off+ChunkEntries], x.hi[off:off+ChunkEntries]
		var sl, sh int64
		for k, v := range part {
			sl += int64(v) * lo[k]
			sh += int64(v) * hi[k]
		}
		total = addMod(total, joinSums(sl, sh))
	}
	return total
}
