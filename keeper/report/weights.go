package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// Weights are the voting weights of the keepers of a period, by wallet.
type Weights map[solana.PublicKey]uint64

// Total is the sum of all weights. Bonds are capped, and there are at most 256 keepers, so it saturates only in tests.
func (w Weights) Total() uint64 {
	var sum uint64
	for _, n := range w {
		next, carry := bits.Add64(sum, n, 0)
		if carry != 0 {
			return 1<<64 - 1
		}
		sum = next
	}
	return sum
}

// moreThan reports whether part/total > num/den.
func moreThan(part, total, num, den uint64) bool {
	ah, al := bits.Mul64(part, den)
	bh, bl := bits.Mul64(total, num)
	return ah > bh || (ah == bh && al > bl)
}

// Proposers is the order in which keepers propose the report of a period: by sha256(period u64 LE ‖ wallet). Round r is
// for the keeper at r modulo their number, so that no keeper is asked twice before all were.
func Proposers(p records.Period, w Weights) []solana.PublicKey {
	type ranked struct {
		hash [32]byte
		key  solana.PublicKey
	}
	all := make([]ranked, 0, len(w))
	for key := range w {
		var b [40]byte
		binary.LittleEndian.PutUint64(b[:8], uint64(p))
		copy(b[8:], key[:])
		all = append(all, ranked{sha256.Sum256(b[:]), key})
	}
	slices.SortFunc(all, func(a, b ranked) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	out := make([]solana.PublicKey, len(all))
	for i, r := range all {
		out[i] = r.key
	}
	return out
}

// Proposer returns who proposes in a round; false when there is no keeper.
func Proposer(p records.Period, round uint32, w Weights) (solana.PublicKey, bool) {
	order := Proposers(p, w)
	if len(order) == 0 {
		return solana.PublicKey{}, false
	}
	return order[uint64(round)%uint64(len(order))], true
}

// value is what one keeper says.
type value struct {
	weight uint64
	n      uint32
}

// median is the weighted lower median: the smallest n such that values up to it have at least half of the weight.
func median(values []value) uint32 {
	var total uint64
	for _, v := range values {
		total += v.weight
	}
	if total == 0 {
		return 0
	}
	if !slices.ContainsFunc(values, func(v value) bool { return v.n != values[0].n }) {
		return values[0].n
	}
	// Few and mostly equal: insertion beats a general sort.
	for i := 1; i < len(values); i++ {
		v, j := values[i], i
		for ; j > 0 && values[j-1].n > v.n; j-- {
			values[j] = values[j-1]
		}
		values[j] = v
	}
	var below uint64
	for _, v := range values {
		below += v.weight
		if below >= total-below {
			return v.n
		}
	}
	return values[len(values)-1].n
}
