package measure

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// WalkSteps is the number of steps of a walk.
const WalkSteps = 64

// Constants of a step.
const (
	placeFactor = 0xD6E8FEB86659FD93
	stepFactor0 = 0x9E3779B97F4A7C15
	stepFactor1 = 0xC2B2AE3D27D4EB4F
)

// State is where a lane is.
type State struct{ S0, S1 uint64 }

// StateBytes is the length of an encoded state.
const StateBytes = 16

// Bytes encodes the state.
func (s State) Bytes() [StateBytes]byte {
	var b [StateBytes]byte
	binary.LittleEndian.PutUint64(b[:], s.S0)
	binary.LittleEndian.PutUint64(b[8:], s.S1)
	return b
}

func decodeState(b []byte) State {
	return State{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// LaneState is the state that a lane begins with.
func LaneState(walkSeed Hash, lane uint32) State {
	h := sum(tagLane[:], walkSeed[:], le32(lane))
	return decodeState(h[:])
}

// Begin is the state with which a walk makes its first step: its place is mixed in, so that it counts there only.
func (s State) Begin(lane, walk uint32) State {
	s.S0 ^= (uint64(lane)<<32 + uint64(walk) + 1) * placeFactor
	return s
}

// Item is the item that the next step reads.
func (s State) Item(items uint64) uint64 {
	x, _ := bits.Mul64(s.S0, items)
	return x
}

// Step is the state after the item was read.
func (s State) Step(item *[ItemBytes]byte) State {
	s0, s1 := s.S0, s.S1
	for t := 0; t < ItemBytes; t += 16 {
		s0 = (s0 ^ binary.LittleEndian.Uint64(item[t:])) * stepFactor0
		s0 ^= s0 >> 32
		s1 = (s1 ^ binary.LittleEndian.Uint64(item[t+8:])) * stepFactor1
		s1 ^= s1 >> 29
	}
	return State{s0 + s1, s1 ^ bits.RotateLeft64(s0, 23)}
}

// WalkHash is a walk's leaf in its lane's tree. start is the state before [State.Begin].
func WalkHash(start, end State) Hash {
	var m [33]byte
	m[0] = kindWalk
	a, z := start.Bytes(), end.Bytes()
	copy(m[1:], a[:])
	copy(m[17:], z[:])
	return sha256.Sum256(m[:])
}
