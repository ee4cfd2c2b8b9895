package measure

import (
	"crypto/sha256"
	"math"
	"math/bits"
	"testing"
)

// A product whose rows or columns depended on one another, or repeated, could be computed from a smaller one. These tests
// look for that in rows of neighbouring indices of one seed, as a round has them, and would find a generator that is
// linear over the integers or over bits, that shifts one sequence, or that prefers bytes. The bounds are six and more
// standard deviations; keys are fixed, so that a run says the same as the last.

const sampleRows, sampleEntries = 512, 1024

func sample() [][]int8 {
	seed := sha256.Sum256([]byte("sample"))
	rows := make([][]int8, sampleRows)
	for i := range rows {
		rows[i] = expand(RowKey(seed, uint32(i)), sampleEntries)
	}
	return rows
}

// TestRowsAreIndependentOverIntegers: a relation over the integers is one modulo every prime.
func TestRowsAreIndependentOverIntegers(t *testing.T) {
	for _, start := range []int{0, 512} { // two squares of the rows
		m := make([][]uint64, sampleRows)
		for i, row := range sample() {
			for _, v := range row[start : start+sampleRows] {
				m[i] = append(m[i], uint64(int64(v)+prime)%prime)
			}
		}
		if got := rank(m); got < sampleRows {
			t.Errorf("rank %d of %d rows from entry %d", got, sampleRows, start)
		}
	}
	// The test finds a relation where there is one: a row that is the difference of two.
	m := [][]uint64{{1, 2, 3}, {4, 5, 6}, {3, 3, 3}}
	equal(t, "rank of related rows", rank(m), 2)
}

const prime = 1<<31 - 1

// rank is that of a matrix modulo prime, which it destroys.
func rank(m [][]uint64) int {
	r := 0
	for column := 0; column < len(m[0]) && r < len(m); column++ {
		pivot := r
		for pivot < len(m) && m[pivot][column] == 0 {
			pivot++
		}
		if pivot == len(m) {
			continue
		}
		m[r], m[pivot] = m[pivot], m[r]
		inverse := power64(m[r][column], prime-2)
		for i := r + 1; i < len(m); i++ {
			f := m[i][column] * inverse % prime
			if f == 0 {
				continue
			}
			for j := column; j < len(m[i]); j++ {
				m[i][j] = (m[i][j] + (prime-f)*m[r][j]) % prime
			}
		}
		r++
	}
	return r
}

func power64(b uint64, e int) uint64 {
	out := uint64(1)
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			out = out * b % prime
		}
		b = b * b % prime
	}
	return out
}

// TestRowsAreIndependentOverBits: each bit of the words, as a matrix of rows, and the parity of each pair of neighbouring
// bits. A random square matrix of bits misses full rank by 12 with a probability below 2⁻¹⁴⁰.
func TestRowsAreIndependentOverBits(t *testing.T) {
	seed := sha256.Sum256([]byte("bits"))
	keys := make([]Key, 256)
	for i := range keys {
		keys[i] = RowKey(seed, uint32(i))
	}
	for bit := range 32 {
		for _, mask := range []uint32{1 << bit, 1<<bit | 1<<((bit+1)%32), 1<<bit | 1<<((bit+16)%32)} {
			m := make([][4]uint64, len(keys))
			for i, k := range keys {
				for w := range uint32(len(keys)) {
					m[i][w/64] |= uint64(bits.OnesCount32(k.Word(w)&mask)&1) << (w % 64)
				}
			}
			if got := bitRank(m); got < len(keys)-11 {
				t.Errorf("rank %d of %d rows of bits %#x", got, len(keys), mask)
			}
		}
	}
}

func bitRank(m [][4]uint64) int {
	r := 0
	for column := 0; column < 256 && r < len(m); column++ {
		word, bit := column/64, uint64(1)<<(column%64)
		pivot := r
		for pivot < len(m) && m[pivot][word]&bit == 0 {
			pivot++
		}
		if pivot == len(m) {
			continue
		}
		m[r], m[pivot] = m[pivot], m[r]
		for i := r + 1; i < len(m); i++ {
			if m[i][word]&bit != 0 {
				for j := range m[i] {
					m[i][j] ^= m[r][j]
				}
			}
		}
		r++
	}
	return r
}

// TestRowsAreUncorrelated: each pair of rows, and each row against every shift of its neighbour by words, has the product
// that independent bytes have: 1024 of them of a standard deviation of 5461 each.
func TestRowsAreUncorrelated(t *testing.T) {
	const deviation = 5461.5 * 32
	centred := func(a, b []int8) float64 {
		var sum int64
		for i := range a {
			sum += (2*int64(a[i]) + 1) * (2*int64(b[i]) + 1)
		}
		return math.Abs(float64(sum) / 4)
	}
	rows := sample()
	for i := range rows {
		for j := range i {
			if c := centred(rows[i], rows[j]); c > 7*deviation {
				t.Errorf("rows %d and %d: %.1f deviations", i, j, c/deviation)
			}
		}
	}
	for shift := 4; shift < sampleEntries-256; shift += 4 {
		a, b := rows[0][shift:], rows[1][:sampleEntries-shift]
		if c, bound := centred(a, b), 7*5461.5*math.Sqrt(float64(len(a))); c > bound {
			t.Errorf("row 0 shifted by %d against row 1: %.0f, at most %.0f", shift, c, bound)
		}
	}
}

// TestWordsDoNotRepeat: 2¹⁷ words of 32 bits have 2 equal pairs by chance.
func TestWordsDoNotRepeat(t *testing.T) {
	seed := sha256.Sum256([]byte("words"))
	seen, again := map[uint32]bool{}, 0
	for i := range uint32(sampleRows) {
		k := RowKey(seed, i)
		for w := range uint32(sampleEntries / 4) {
			x := k.Word(w)
			if seen[x] {
				again++
			}
			seen[x] = true
		}
	}
	if again > 14 {
		t.Errorf("%d words are there again, 2 are expected", again)
	}
}

// TestBytesAreEven: each value of a byte, at each of the four places of a word, is as frequent as another.
func TestBytesAreEven(t *testing.T) {
	for place := range 4 {
		var count [256]float64
		for _, row := range sample() {
			for i := place; i < len(row); i += 4 {
				count[byte(row[i])]++
			}
		}
		const want = sampleRows * sampleEntries / 4 / 256
		var chi float64
		for _, c := range count {
			chi += (c - want) * (c - want) / want
		}
		if chi < 255-7*22.6 || chi > 255+7*22.6 { // 255 degrees of freedom: deviation √510
			t.Errorf("place %d: chi² %.0f, 255 is expected", place, chi)
		}
	}
}
