package tree

import (
	"math/rand/v2"
	"testing"
)

func leaves(count int) []Hash {
	nodes := make([]Hash, count)
	for i := range nodes {
		nodes[i] = Hash{byte(i), byte(i >> 8), 1}
	}
	return nodes
}

// Every leaf of every small tree has one path, which leads to the root from its own position only.
func TestPathsOfAllSmallTrees(t *testing.T) {
	for count := 1; count <= 40; count++ {
		nodes := leaves(count)
		root := Root(leaves(count))
		for i := range nodes {
			path := Path(nodes, i)
			if len(path) != PathLength(i, count) {
				t.Fatalf("leaf %d of %d has %d siblings, want %d", i, count, len(path), PathLength(i, count))
			}
			got, rest, ok := Climb(nodes[i], i, count, path)
			if !ok || len(rest) != 0 || got != root {
				t.Fatalf("leaf %d of %d does not lead to the root", i, count)
			}
			if j := rand.IntN(count); j != i {
				if got, rest, ok := Climb(nodes[i], j, count, path); ok && len(rest) == 0 && got == root {
					t.Fatalf("leaf %d of %d passes as leaf %d", i, count, j)
				}
			}
			if len(path) > 0 {
				if _, _, ok := Climb(nodes[i], i, count, path[1:]); ok {
					t.Fatalf("leaf %d of %d climbs with a sibling less", i, count)
				}
			}
		}
	}
}
