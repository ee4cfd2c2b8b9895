package consensus

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/records"
)

// However many roots stand for nothing, a round of questions is about eight of them at most, and each has its turn.
func TestEveryRootIsAskedForInTurn(t *testing.T) {
	for _, count := range []int{0, 1, 4, 8, 9, 13, 255} {
		var roots []records.Hash
		for i := range count {
			roots = append(roots, records.Hash{byte(i), 1})
		}
		seen := map[records.Hash]bool{}
		for turn := range 64 {
			asked := rootsOfTurn(slices.Clone(roots), turn)
			require.LessOrEqual(t, len(asked), 8)
			require.Equal(t, roots[:min(count, 4)], asked[:min(count, 4)], "the heaviest always")
			for _, root := range asked {
				seen[root] = true
			}
		}
		require.Len(t, seen, count)
	}
}
