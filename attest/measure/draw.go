package measure

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// What an answer opens.
const (
	OpenedLeaves = 64
	OpenedCells  = 32 // of each leaf
	OpenedWalks  = 4
)

const cellCounter, walkCounter = OpenedLeaves, 2 * OpenedLeaves

// Draw is the randomness of one member's opening of one GPU.
type Draw Hash

// NewDraw binds a member's 32 random bytes to a commitment, so that they could not be asked for before.
func NewDraw(challenge [32]byte, gpu uint8, c Commitment) Draw {
	h := sha256.Sum256(c.Bytes())
	return Draw(sum(tagDraw[:], challenge[:], []byte{gpu}, h[:]))
}

func (d Draw) at(counter uint32) Hash {
	var m [36]byte
	copy(m[:], d[:])
	binary.LittleEndian.PutUint32(m[32:], counter)
	return sha256.Sum256(m[:])
}

// two draws two numbers below bounds.
func (d Draw) two(counter, first, second uint32) (uint32, uint32) {
	h := d.at(counter)
	x, _ := bits.Mul64(binary.LittleEndian.Uint64(h[:]), uint64(first))
	y, _ := bits.Mul64(binary.LittleEndian.Uint64(h[8:]), uint64(second))
	return uint32(x), uint32(y)
}

// LeafAt names a leaf of a round.
type LeafAt struct{ Round, Leaf uint32 }

// Leaves are the leaves that are opened.
func (d Draw) Leaves(p Profile, rounds uint32) [OpenedLeaves]LeafAt {
	var at [OpenedLeaves]LeafAt
	for o := range at {
		at[o].Round, at[o].Leaf = d.two(uint32(o), rounds, p.Leaves())
	}
	return at
}

// Cells are the groups of the o-th leaf that are computed again. Some may be there twice.
func (d Draw) Cells(o int) [OpenedCells]byte { return d.at(cellCounter + uint32(o)) }

// WalkAt names a walk of a lane.
type WalkAt struct{ Lane, Walk uint32 }

// Walks are the walks that are opened.
func (d Draw) Walks(p Profile, walks uint32) [OpenedWalks]WalkAt {
	var at [OpenedWalks]WalkAt
	for v := range at {
		at[v].Lane, at[v].Walk = d.two(walkCounter+uint32(v), p.Lanes, walks)
	}
	return at
}
