package records

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
)

// Hash is a sha256 digest.
type Hash [32]byte

// LeafHash returns sha256(0x00 ‖ leaf). The prefix keeps a leaf from being passed off as an inner node.
func LeafHash(leaf []byte) Hash {
	var b [1 + LeafSize]byte // on the stack: a report hashes tens of thousands
	if len(leaf) <= LeafSize {
		return sha256.Sum256(b[:1+copy(b[1:], leaf)])
	}
	return sha256.Sum256(append(make([]byte, 1, 1+len(leaf)), leaf...))
}

// innerHash returns sha256(0x01 ‖ left ‖ right).
func innerHash(left, right Hash) Hash {
	var b [65]byte
	b[0] = 1
	copy(b[1:33], left[:])
	copy(b[33:65], right[:])
	return sha256.Sum256(b[:])
}

// Proof leads from one leaf to the root.
type Proof struct {
	Index    uint32 // position of the leaf
	Count    uint32 // number of leaves in the tree
	Siblings []Hash // bottom-up; levels where the node moves up alone have none
}

// Tree is a Merkle tree over leaf hashes. An odd node at the end of a level moves up unchanged.
type Tree struct {
	levels [][]Hash // levels[0] are leaf hashes, the last level is the root
}

// NewTree builds the tree over leaf hashes, which it does not copy.
func NewTree(leaves []Hash) *Tree {
	t := &Tree{}
	if len(leaves) == 0 {
		return t
	}
	t.levels = append(t.levels, leaves)
	for level := leaves; len(level) > 1; {
		next := make([]Hash, 0, (len(level)+1)/2)
		for i := 0; i+1 < len(level); i += 2 {
			next = append(next, innerHash(level[i], level[i+1]))
		}
		if len(level)%2 == 1 {
			next = append(next, level[len(level)-1])
		}
		t.levels = append(t.levels, next)
		level = next
	}
	return t
}

// LeafTree builds the tree of a report. Leaves must be in the report's order.
// Errors: ErrOrder, ErrValue.
func LeafTree(leaves []Leaf) (*Tree, error) {
	if err := CheckLeafOrder(leaves); err != nil {
		return nil, err
	}
	hashes := make([]Hash, len(leaves))
	var b [1 + LeafSize]byte // as LeafHash has it, for all of them
	for i := range leaves {
		leaves[i].put((*[LeafSize]byte)(b[1:]))
		hashes[i] = sha256.Sum256(b[:])
	}
	return NewTree(hashes), nil
}

// Count returns the number of leaves.
func (t *Tree) Count() uint32 {
	if len(t.levels) == 0 {
		return 0
	}
	return uint32(len(t.levels[0]))
}

// Root returns the root; the tree without leaves has the zero root.
func (t *Tree) Root() Hash {
	if len(t.levels) == 0 {
		return Hash{}
	}
	return t.levels[len(t.levels)-1][0]
}

// Proof returns the proof of the leaf at index. Error: ErrValue.
func (t *Tree) Proof(index uint32) (Proof, error) {
	if index >= t.Count() {
		return Proof{}, fmt.Errorf("leaf %d of %d: %w", index, t.Count(), ErrValue)
	}
	p := Proof{Index: index, Count: t.Count()}
	i := int(index)
	for _, level := range t.levels[:len(t.levels)-1] {
		if sib := i ^ 1; sib < len(level) {
			p.Siblings = append(p.Siblings, level[sib])
		}
		i /= 2
	}
	return p, nil
}

// Verify checks that the proof leads from the leaf hash to the root. It accepts exactly the siblings that the tree's
// shape asks for.
// Errors: ErrValue, ErrProof.
func (p Proof) Verify(root, leaf Hash) error {
	if p.Index >= p.Count {
		return fmt.Errorf("leaf %d of %d: %w", p.Index, p.Count, ErrValue)
	}
	if len(p.Siblings) > bits.Len32(p.Count-1) {
		return fmt.Errorf("%d siblings for %d leaves: %w", len(p.Siblings), p.Count, ErrProof)
	}
	h, i, n, used := leaf, p.Index, uint64(p.Count), 0
	for n > 1 {
		if uint64(i^1) < n {
			if used == len(p.Siblings) {
				return fmt.Errorf("too few siblings: %w", ErrProof)
			}
			if i&1 == 0 {
				h = innerHash(h, p.Siblings[used])
			} else {
				h = innerHash(p.Siblings[used], h)
			}
			used++
		}
		i, n = i/2, (n+1)/2
	}
	if used != len(p.Siblings) {
		return fmt.Errorf("%d siblings unused: %w", len(p.Siblings)-used, ErrProof)
	}
	if h != root {
		return ErrProof
	}
	return nil
}

// Path returns the proof's turns as the program takes them: bit i is set when the running hash is the right child at
// the i-th sibling. Levels at which the node moves up alone have no sibling and no bit.
func (p Proof) Path() uint32 {
	var path uint32
	i, n, used := p.Index, uint64(p.Count), 0
	for n > 1 {
		if uint64(i^1) < n {
			path |= (i & 1) << used
			used++
		}
		i, n = i/2, (n+1)/2
	}
	return path
}

// RootOf folds a leaf hash with its siblings as the program does.
func RootOf(leaf Hash, path uint32, siblings []Hash) Hash {
	h := leaf
	for _, s := range siblings {
		if path&1 == 1 {
			h = innerHash(s, h)
		} else {
			h = innerHash(h, s)
		}
		path >>= 1
	}
	return h
}
