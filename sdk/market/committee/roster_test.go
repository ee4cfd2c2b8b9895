package committee

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/records"
)

func key(n int) solana.PublicKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func equal(n int) map[solana.PublicKey]uint64 {
	out := map[solana.PublicKey]uint64{}
	for i := range n {
		out[key(i)] = 1_000
	}
	return out
}

func TestNegLog2(t *testing.T) {
	for _, x := range []uint64{1, 2, 3, 1000, 1 << 40, 1<<63 - 1, 1 << 63, 1<<63 + 12345, math.MaxUint64} {
		want := -math.Log2(float64(x|1) / math.Exp2(64))
		require.InDelta(t, want, float64(negLog2(x))/(1<<logBits), 2e-6, "%d", x)
	}
	require.Equal(t, negLog2(0), negLog2(1))
}

func TestSmallNetworksNeedNoDraw(t *testing.T) {
	for n := range Size + 1 {
		r := NewRoster(Seed{1}, equal(n))
		require.True(t, r.Everyone())
		require.Len(t, r.Draw(nil, key(1000)), n)
		for i := range n {
			require.True(t, r.Sits(key(1000), key(i)))
		}
		require.False(t, r.Sits(key(1000), key(999)))
	}
}

// Whatever the weights: a committee has its size, nobody twice, nobody without weight, the same for everybody; and who
// leaves changes only the committees that it sat in.
func TestCommittees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := map[solana.PublicKey]uint64{}
		for i := range rapid.IntRange(0, 40).Draw(t, "keepers") {
			weights[key(i)] = rapid.Uint64().Draw(t, "weight")
		}
		seed := Seed{rapid.Byte().Draw(t, "seed")}
		r := NewRoster(seed, weights)
		for node := range 20 {
			got := r.Draw(nil, key(1000+node))
			require.Equal(t, got, NewRoster(seed, weights).Draw(nil, key(1000+node)))
			require.Len(t, got, min(Size, r.Len()))
			sorted := slices.Clone(got)
			slices.Sort(sorted)
			require.Len(t, slices.Compact(sorted), len(got))
			sits := map[solana.PublicKey]bool{}
			for _, i := range got {
				require.NotZero(t, weights[r.Key(i)])
				require.True(t, r.Sits(key(1000+node), r.Key(i)))
				sits[r.Key(i)] = true
			}
			if r.Len() <= Size {
				continue
			}
			gone := r.Key(rapid.IntRange(0, r.Len()-1).Draw(t, "gone"))
			fewer := map[solana.PublicKey]uint64{}
			for k, w := range weights {
				if k != gone {
					fewer[k] = w
				}
			}
			less := NewRoster(seed, fewer)
			for _, i := range less.Draw(nil, key(1000+node)) {
				if !sits[less.Key(i)] {
					require.True(t, sits[gone], "a committee without the one that left has changed")
				}
			}
		}
	})
}

// A keeper's seats follow its weight while they are few, whether its bond is in one wallet or in many.
func TestSeatsFollowWeight(t *testing.T) {
	const nodes = 6_000
	seats := func(weights map[solana.PublicKey]uint64, of ...int) float64 {
		r, n := NewRoster(Seed{7}, weights), 0
		for node := range nodes {
			for _, i := range r.Draw(nil, key(100_000+node)) {
				if slices.ContainsFunc(of, func(k int) bool { return key(k) == r.Key(i) }) {
					n++
				}
			}
		}
		return float64(n) / nodes
	}
	w := equal(100)
	require.InDelta(t, 0.05, seats(w, 3), 0.015)
	w[key(3)] = 2_000
	require.InDelta(t, 0.0988, seats(w, 3), 0.02)
	w[key(3)] = 1_000
	w[key(200)] = 1_000
	require.InDelta(t, 0.0989, seats(w, 3, 200), 0.02, "split over two wallets")
}

func TestSeedsDiffer(t *testing.T) {
	seen := map[Seed]bool{}
	for _, s := range []Seed{
		NewSeed(records.Domain{}, 1, 2, [32]byte{3}), NewSeed(records.Domain{1}, 1, 2, [32]byte{3}), NewSeed(records.Domain{}, 2, 2, [32]byte{3}),
		NewSeed(records.Domain{}, 1, 1, [32]byte{3}), NewSeed(records.Domain{}, 1, 2, [32]byte{4}),
	} {
		require.False(t, seen[s])
		seen[s] = true
	}
	r := equal(50)
	require.NotEqual(t, NewRoster(Seed{1}, r).Draw(nil, key(1)), NewRoster(Seed{2}, r).Draw(nil, key(1)))
	require.Len(t, Seed{}.String(), 64)
}

func BenchmarkDraw(b *testing.B) {
	r := NewRoster(Seed{1}, equal(19))
	var buf [Size]int
	n := key(1)
	for b.Loop() {
		n[0]++
		r.Draw(buf[:0], n)
	}
}
