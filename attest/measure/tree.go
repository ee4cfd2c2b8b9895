package measure

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
)

// First bytes of what is hashed in trees.
const (
	kindLeaf byte = iota
	kindNode
	kindRound
	kindWalk
)

// LeafHash is the hash of 256 mix bytes.
func LeafHash(leaf *[LeafBytes]byte) Hash {
	var m [1 + LeafBytes]byte
	m[0] = kindLeaf
	copy(m[1:], leaf[:])
	return sha256.Sum256(m[:])
}

// RoundHash is a round's leaf in the tree over rounds.
func RoundHash(round uint32, before, root Hash) Hash {
	var m [69]byte
	m[0] = kindRound
	binary.LittleEndian.PutUint32(m[1:], round)
	copy(m[5:], before[:])
	copy(m[37:], root[:])
	return sha256.Sum256(m[:])
}

// Node is the hash of two nodes of a tree.
func Node(left, right Hash) Hash {
	var m [65]byte
	m[0] = kindNode
	copy(m[1:], left[:])
	copy(m[33:], right[:])
	return sha256.Sum256(m[:])
}

// Depth is the length of a path in a tree over n leaves, which is padded with zeros to a power of two.
func Depth(n uint32) int { return bits.Len32(n - 1) }

// Root is the top of the tree over leaves, of which there is at least one; it leaves them alone.
func Root(leaves []Hash) Hash {
	root, _ := climb(leaves, 0)
	return root
}

// Path lists the siblings of the nodes from a leaf to the root, the leaf's own first.
func Path(leaves []Hash, index uint32) []Hash {
	_, path := climb(leaves, index)
	return path
}

// climb makes a tree level by level and returns its top and the path of a leaf.
func climb(leaves []Hash, index uint32) (Hash, []Hash) {
	level, path := slices.Clone(leaves), make([]Hash, 0, Depth(uint32(len(leaves))))
	var padding Hash // what a node is below which all leaves are padding
	for range cap(path) {
		if len(level)%2 == 1 {
			level = append(level, padding)
		}
		if sibling := index ^ 1; int(sibling) < len(level) {
			path = append(path, level[sibling])
		} else {
			path = append(path, padding)
		}
		for i := range len(level) / 2 {
			level[i] = Node(level[2*i], level[2*i+1])
		}
		level, padding, index = level[:len(level)/2], Node(padding, padding), index/2
	}
	return level[0], path
}

// Climb returns the root to which a path leads from a node at an index of its level.
func Climb(node Hash, index uint32, path []Hash) Hash {
	for _, sibling := range path {
		if index%2 == 0 {
			node = Node(node, sibling)
		} else {
			node = Node(sibling, node)
		}
		index /= 2
	}
	return node
}

// Edge is the left edge of a tree whose leaves come one by one: a node for each bit of their number, so that a lane
// remembers no more of its walks.
type Edge struct {
	n     uint32
	nodes []Hash // of each level the last full one on the left, if the number has this bit
}

// Add appends a leaf.
func (e *Edge) Add(leaf Hash) {
	level := 0
	for ; e.n>>level&1 == 1; level++ {
		leaf = Node(e.nodes[level], leaf)
	}
	if level == len(e.nodes) {
		e.nodes = append(e.nodes, leaf)
	}
	e.nodes[level] = leaf
	e.n++
}

// Root is the top of the tree over what was added, at least one leaf, padded as [Root] does.
func (e *Edge) Root() Hash {
	var node, padding Hash
	partial := false // whether node is one of this level, with padding below it
	for level := range Depth(e.n) {
		full := e.n>>level&1 == 1
		switch {
		case full && partial:
			node = Node(e.nodes[level], node)
		case full:
			node, partial = Node(e.nodes[level], padding), true
		case partial:
			node = Node(node, padding)
		}
		padding = Node(padding, padding)
	}
	if !partial {
		return e.nodes[Depth(e.n)]
	}
	return node
}

// RoundLeaves are the leaves of the tree over rounds whose roots are given.
func RoundLeaves(roots []Hash) []Hash {
	leaves := make([]Hash, len(roots))
	var before Hash
	for r, root := range roots {
		leaves[r] = RoundHash(uint32(r), before, root)
		before = root
	}
	return leaves
}

// RoundsRoot is the root over all rounds.
func RoundsRoot(roots []Hash) Hash { return Root(RoundLeaves(roots)) }
