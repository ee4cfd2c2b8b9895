package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Bounds of a profile and of a run.
const (
	MinOrder, MaxOrder = 1 << 10, 1 << 14
	MinRows, MaxRows   = 1 << 10, 1 << 20
	MaxLanes           = 1 << 20
	// MaxRounds bounds the rounds of a run, and so the roots that a member of a committee gets: 128 KiB.
	MaxRounds = 1 << 12
	// MaxWalks bounds the walks of a lane.
	MaxWalks = 1 << 20
	// MaxGPUs bounds the GPUs of a machine that are measured at once.
	MaxGPUs = 8
	// maxGroup bounds the multiplications of one group of cells, which the program repeats.
	maxGroup = 1 << 15
)

// ErrProfile means that a profile breaks the bounds of the format.
var ErrProfile = errors.New("the profile breaks the bounds of the format")

// Profile is what a class of GPUs is asked for. Times are of the clock, in milliseconds.
type Profile struct {
	// Order is n: the columns of each product and its inner length.
	Order uint32
	// Fold is f: how many neighbouring columns a mix byte is made of.
	Fold uint8
	// Rows is m: the rows of a round's product.
	Rows uint32
	// ChainMs is how long rounds are begun.
	ChainMs uint32
	// Resident is K: how many rounds stay in memory.
	Resident uint32
	// WalkMs is how long walks are begun.
	WalkMs uint32
	// Lanes is Λ: how many walks are made side by side.
	Lanes uint32
}

// Of the light form of a profile: what a job can spare.
const (
	lightChainMs, lightWalkMs = 3000, 500
	lightResident             = 2
)

// Light is what is asked of GPUs that have a job at the same time: a few seconds, and two rounds in memory. It says
// what they compute, and nothing of the memory's size.
func (p Profile) Light() Profile {
	p.ChainMs, p.WalkMs, p.Resident = min(p.ChainMs, lightChainMs), min(p.WalkMs, lightWalkMs), min(p.Resident, lightResident)
	return p
}

// ProfileBytes is the length of an encoded profile.
const ProfileBytes = 25

// Bytes encodes the profile: its fields in their order, little-endian.
func (p Profile) Bytes() [ProfileBytes]byte {
	var b [ProfileBytes]byte
	le := binary.LittleEndian
	le.PutUint32(b[0:], p.Order)
	b[4] = p.Fold
	for i, v := range []uint32{p.Rows, p.ChainMs, p.Resident, p.WalkMs, p.Lanes} {
		le.PutUint32(b[5+4*i:], v)
	}
	return b
}

// DecodeProfile reads a profile and validates it. Errors: [ErrEncoding], [ErrProfile].
func DecodeProfile(b []byte) (p Profile, err error) {
	if len(b) != ProfileBytes {
		return p, fmt.Errorf("%w: a profile of %d bytes", ErrEncoding, len(b))
	}
	p.Order, p.Fold = binary.LittleEndian.Uint32(b), b[4]
	for i, v := range []*uint32{&p.Rows, &p.ChainMs, &p.Resident, &p.WalkMs, &p.Lanes} {
		*v = binary.LittleEndian.Uint32(b[5+4*i:])
	}
	return p, p.Validate()
}

// Hash is what nonces and entries name the profile by.
func (p Profile) Hash() Hash {
	b := p.Bytes()
	return sum(tagProfile[:], b[:])
}

// Validate reports why a profile cannot be asked for; the error wraps [ErrProfile].
func (p Profile) Validate() error {
	switch {
	case !power(p.Order, MinOrder, MaxOrder):
		return fmt.Errorf("%w: order %d is not a power of two from %d to %d", ErrProfile, p.Order, MinOrder, MaxOrder)
	case p.Fold != 2 && p.Fold != 4:
		return fmt.Errorf("%w: %d columns a mix byte, it must be 2 or 4", ErrProfile, p.Fold)
	case uint32(p.Fold)*p.Order > maxGroup:
		return fmt.Errorf("%w: order %d with %d columns a mix byte, their product is at most %d", ErrProfile, p.Order, p.Fold, maxGroup)
	case !power(p.Rows, MinRows, MaxRows):
		return fmt.Errorf("%w: %d rows are not a power of two from %d to %d", ErrProfile, p.Rows, MinRows, MaxRows)
	case p.Resident < 1 || p.Resident > MaxRounds:
		return fmt.Errorf("%w: %d rounds resident, there must be 1 to %d", ErrProfile, p.Resident, MaxRounds)
	case !power(p.Lanes, 1, MaxLanes):
		return fmt.Errorf("%w: %d lanes are not a power of two up to %d", ErrProfile, p.Lanes, MaxLanes)
	}
	return nil
}

func power(v, least, most uint32) bool {
	return v >= least && v <= most && bits.OnesCount32(v) == 1
}

// LeafBytes is the number of mix bytes that are hashed together.
const LeafBytes = 256

// ItemBytes is what one step of a walk reads.
const ItemBytes = 128

// RowLeaves is the number of leaves of one row.
func (p Profile) RowLeaves() uint32 { return p.Order / (LeafBytes * uint32(p.Fold)) }

// Leaves is the number of leaves of a round.
func (p Profile) Leaves() uint32 { return p.Rows * p.RowLeaves() }

// LeafDepth is the length of a leaf's path to its round's root.
func (p Profile) LeafDepth() int { return bits.Len32(p.Leaves()) - 1 }

// SlotBytes is the memory of one round: a kept byte for each entry.
func (p Profile) SlotBytes() uint64 { return uint64(p.Rows) * uint64(p.Order) }

// Memory is what all rounds that stay resident take.
func (p Profile) Memory() uint64 { return uint64(p.Resident) * p.SlotBytes() }

// Items is the number of items that a walk chooses from.
func (p Profile) Items() uint64 { return p.Memory() / ItemBytes }

func (p Profile) chain() time.Duration { return time.Duration(p.ChainMs) * time.Millisecond }

func (p Profile) walk() time.Duration { return time.Duration(p.WalkMs) * time.Millisecond }

// Time is how long rounds and walks are begun, together: a measurement takes a little longer.
func (p Profile) Time() time.Duration { return p.chain() + p.walk() }

// SlotRound is the round whose bytes lie in a slot after a number of rounds: the last that was written there.
func (p Profile) SlotRound(slot, rounds uint32) uint32 {
	return rounds - 1 - (rounds-1-slot)%p.Resident
}

// ItemAt says where an item is: its slot, row and first column.
func (p Profile) ItemAt(item uint64) (slot, row, column uint32) {
	perRow := uint64(p.Order / ItemBytes)
	line := item / perRow
	return uint32(line / uint64(p.Rows)), uint32(line % uint64(p.Rows)), uint32(item%perRow) * ItemBytes
}
