package match

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Numbers come out in order, those of several tournaments together, whatever was set before.
func TestTheLeastComeFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var f frontier
		var want []uint64
		for range 1 + rng.IntN(3) {
			g := &group{}
			numbers := map[int]uint64{}
			for range rng.IntN(200) {
				i, to := rng.IntN(70), uint64(rng.IntN(1000))
				if rng.IntN(4) == 0 {
					to = math.MaxUint64
				}
				numbers[i] = to
				g.here.order[3].set(i, to)
			}
			for range 70 {
				g.here.classes = append(g.here.classes, &class{})
			}
			for _, n := range numbers {
				if n != math.MaxUint64 {
					want = append(want, n)
				}
			}
			if tree := g.here.order[3].least; len(tree) > 0 {
				f.push(branch{tree[1], g, 1})
			}
		}
		slices.Sort(want)
		var got []uint64
		for {
			_, head, ok := f.next(3, 900)
			if !ok {
				break
			}
			got = append(got, head)
		}
		below, _ := slices.BinarySearch(want, 901)
		require.Equal(t, want[:below], append([]uint64{}, got...))
	}
}
