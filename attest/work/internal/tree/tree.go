// Package tree is the Merkle tree that all work proofs use:
// inner nodes are sha256(0x01 ‖ left ‖ right), a last node without a partner moves up unchanged. The number of leaves
// fixes the tree's shape, so a position fixes the number of its siblings.
package tree

import "crypto/sha256"

// Hash is a node.
type Hash = [32]byte

// Pair is the parent of two nodes.
func Pair(left, right *Hash) Hash {
	var m [65]byte
	m[0] = 1
	copy(m[1:], left[:])
	copy(m[33:], right[:])
	return sha256.Sum256(m[:])
}

// Fold replaces level by its parents, in place, and returns them.
func Fold(level []Hash) []Hash {
	half := (len(level) + 1) / 2
	for i := 0; i < len(level)/2; i++ {
		level[i] = Pair(&level[2*i], &level[2*i+1])
	}
	if len(level)%2 == 1 {
		level[half-1] = level[len(level)-1]
	}
	return level[:half]
}

// Root destroys nodes, of which there must be one or more, and returns the root of the tree over them.
func Root(nodes []Hash) Hash {
	for len(nodes) > 1 {
		nodes = Fold(nodes)
	}
	return nodes[0]
}

// Path returns the siblings of nodes[index], bottom up, without changing nodes.
func Path(nodes []Hash, index int) []Hash {
	level := append([]Hash(nil), nodes...)
	var path []Hash
	for len(level) > 1 {
		if s := index ^ 1; s < len(level) {
			path = append(path, level[s])
		}
		level = Fold(level)
		index /= 2
	}
	return path
}

// PathLength is the number of siblings that a leaf at index has in a tree of count leaves.
func PathLength(index, count int) int {
	length := 0
	for count > 1 {
		if index^1 < count {
			length++
		}
		index /= 2
		count = (count + 1) / 2
	}
	return length
}

// Climb returns the root that follows from node at index of count and its siblings, and the siblings it did not use. ok
// is false when there are too few.
func Climb(node Hash, index, count int, siblings []Hash) (root Hash, rest []Hash, ok bool) {
	for count > 1 {
		if index^1 < count {
			if len(siblings) == 0 {
				return Hash{}, nil, false
			}
			if index%2 == 0 {
				node = Pair(&node, &siblings[0])
			} else {
				node = Pair(&siblings[0], &node)
			}
			siblings = siblings[1:]
		}
		index /= 2
		count = (count + 1) / 2
	}
	return node, siblings, true
}
