package committee

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"
)

// Size is how many keepers sit in a committee. docs/protocol/committees.md says why five.
const Size = 5

// Quorum is how many members have to agree for the statements of a committee to count: most of them.
const Quorum = Size/2 + 1

// Roster is the keepers of a period with their weights, in one order for everybody.
type Roster struct {
	seed    Seed
	keys    []solana.PublicKey
	weights []uint64
	hashes  []uint64 // sha256(tag ‖ seed ‖ keeper), first eight bytes
}

// NewRoster takes the period's seed and the weights by wallet; keepers without weight are left out.
func NewRoster(seed Seed, weights map[solana.PublicKey]uint64) *Roster {
	r := &Roster{seed: seed}
	for key, w := range weights {
		if w > 0 {
			r.keys = append(r.keys, key)
		}
	}
	slices.SortFunc(r.keys, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	for _, key := range r.keys {
		r.weights = append(r.weights, weights[key])
		r.hashes = append(r.hashes, hash64(seed, key))
	}
	return r
}

// Len is the number of keepers.
func (r *Roster) Len() int { return len(r.keys) }

// Seed is the period's.
func (r *Roster) Seed() Seed { return r.seed }

// Key is the wallet of the i-th keeper.
func (r *Roster) Key(i int) solana.PublicKey { return r.keys[i] }

// Index is the place of a keeper in the roster, -1 for none.
func (r *Roster) Index(key solana.PublicKey) int {
	i, ok := slices.BinarySearchFunc(r.keys, key, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	if !ok {
		return -1
	}
	return i
}

// Everyone reports whether the roster is so small that every keeper sits in every committee, without a draw.
func (r *Roster) Everyone() bool { return len(r.keys) <= Size }

// Draw appends to dst the places of the keepers that sit in a node's committee, the first drawn first.
//
// Every keeper draws a number u between 0 and 1 for the node, and those with the smallest -log2(u)/weight sit: a draw
// without replacement in which a keeper's chance follows its weight (Efraimidis and Spirakis, 2006), so that splitting
// a bond over many wallets gains nothing. A keeper that comes or goes in the middle of a period changes only the
// committees that it sits in. u is made of two numbers that sha256 has made of the seed, which nobody could choose, so
// a mixing function is enough to join them.
func (r *Roster) Draw(dst []int, node solana.PublicKey) []int {
	first := len(dst)
	if r.Everyone() {
		for i := range r.keys {
			dst = append(dst, i)
		}
		return dst
	}
	h := hash64(r.seed, node)
	var scores [Size]uint64 // of dst[first:], before division by the weight
	for i, w := range r.hashes {
		s := negLog2(mix(h ^ w))
		at := len(dst) - first
		for at > 0 && r.before(s, i, scores[at-1], dst[first+at-1]) {
			at--
		}
		if at == Size {
			continue
		}
		if len(dst)-first < Size {
			dst = append(dst, 0)
		}
		copy(dst[first+at+1:], dst[first+at:])
		copy(scores[at+1:], scores[at:])
		dst[first+at], scores[at] = i, s
	}
	return dst
}

// before reports whether s of keeper i, divided by its weight, is smaller than that of keeper j; equal ones keep their
// order.
func (r *Roster) before(s uint64, i int, t uint64, j int) bool {
	ah, al := bits.Mul64(s, r.weights[j])
	bh, bl := bits.Mul64(t, r.weights[i])
	return ah < bh || ah == bh && al < bl
}

// Sits reports whether a keeper sits in a node's committee.
func (r *Roster) Sits(node, keeper solana.PublicKey) bool {
	i := r.Index(keeper)
	if i < 0 {
		return false
	}
	if r.Everyone() {
		return true
	}
	var buf [Size]int
	return slices.Contains(r.Draw(buf[:0], node), i)
}

// drawTag separates draws from all other hashes.
const drawTag = "gantry-committee-1"

// hash64 is the first eight bytes, LE, of sha256(tag ‖ seed ‖ key).
func hash64(seed Seed, key solana.PublicKey) uint64 {
	var b [len(drawTag) + 64]byte
	copy(b[:], drawTag)
	copy(b[len(drawTag):], seed[:])
	copy(b[len(drawTag)+32:], key[:])
	sum := sha256.Sum256(b[:])
	return binary.LittleEndian.Uint64(sum[:8])
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// logBits is how many bits of the logarithm's fraction are computed.
const logBits = 20

// negLog2 is -log2(x / 2^64) in units of 2^-20, for x = 0 as for 1. Integers, because committees must be the same on
// every machine: the fraction's bits come from squaring the mantissa.
func negLog2(x uint64) uint64 {
	x |= 1
	n := bits.LeadingZeros64(x)
	m := x << n // mantissa in [1, 2) as 1.63 bits
	log := uint64(63-n) << logBits
	for bit := uint64(1) << (logBits - 1); bit > 0; bit >>= 1 {
		hi, lo := bits.Mul64(m, m) // in [1, 4) as 2.126 bits
		if hi>>63 == 1 {
			m = hi
			log |= bit
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return 64<<logBits - log
}
