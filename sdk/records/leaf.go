package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"
)

// LeafSize is the length of an encoded report leaf in bytes.
const LeafSize = 176

// TierNotAsked is the tier of a leaf without an evidence hash that says nothing about evidence: such a leaf lowers a
// node's tier to its own, and raises none.
const TierNotAsked = 3

// Leaf is what the keepers agreed on about one node (and one of its leases) for one period. The program applies it with
// a Merkle proof.
type Leaf struct {
	Node            solana.PublicKey // the Node account's address
	Period          Period
	ChecksPassed    uint16
	ChecksTotal     uint16
	Tier            uint8 // without an evidence hash: at most so much, TierNotAsked where nothing is said
	Flags           Flags
	Operations      uint32           // int8 operations of the weakest GPU in 10⁹ a second, 0 when not measured
	UpSeconds       uint32           // seconds of the period the node was up
	Lease           solana.PublicKey // the lease account, zero for the node alone
	VerifiedSeconds uint32           // seconds of the lease seen delivered
	DowntimeSeconds uint32           // seconds of the lease seen missing
	DeviceRoot      [32]byte         // root over the node's device identities
	EvidenceHash    [32]byte         // hash of the evidence bundle, zero if none
	Bandwidth       uint32           // memory bandwidth of the weakest GPU in 10⁶ bytes a second, 0 when not measured
	DownMbps        uint32           // Mbit/s to the node, 0 when not measured
	UpMbps          uint32           // Mbit/s from the node, 0 when not measured
}

// Encode returns the 176 bytes whose hash is the leaf of the report's tree.
func (l Leaf) Encode() (b [LeafSize]byte) {
	l.put(&b)
	return b
}

// put writes all bytes but those that are always zero.
func (l *Leaf) put(b *[LeafSize]byte) {
	le := binary.LittleEndian
	copy(b[0:32], l.Node[:])
	le.PutUint64(b[32:40], uint64(l.Period))
	le.PutUint16(b[40:42], l.ChecksPassed)
	le.PutUint16(b[42:44], l.ChecksTotal)
	b[44] = l.Tier
	le.PutUint16(b[46:48], uint16(l.Flags))
	le.PutUint32(b[48:52], l.Operations)
	le.PutUint32(b[52:56], l.UpSeconds)
	copy(b[56:88], l.Lease[:])
	le.PutUint32(b[88:92], l.VerifiedSeconds)
	le.PutUint32(b[92:96], l.DowntimeSeconds)
	copy(b[96:128], l.DeviceRoot[:])
	copy(b[128:160], l.EvidenceHash[:])
	le.PutUint32(b[160:164], l.Bandwidth)
	le.PutUint32(b[164:168], l.DownMbps)
	le.PutUint32(b[168:172], l.UpMbps)
}

// Validate checks what the encoding alone cannot express. Error: ErrValue.
func (l Leaf) Validate() error {
	switch {
	case l.Node.IsZero():
		return fmt.Errorf("leaf without a node: %w", ErrValue)
	case l.ChecksPassed > l.ChecksTotal:
		return fmt.Errorf("leaf with %d of %d checks passed: %w", l.ChecksPassed, l.ChecksTotal, ErrValue)
	case l.Operations == 0 && l.Bandwidth != 0:
		return fmt.Errorf("leaf with a bandwidth and no operations: %w", ErrValue)
	case l.Flags&^KnownFlags != 0:
		return fmt.Errorf("leaf with flags %s: %w", l.Flags, ErrValue)
	case l.Lease.IsZero() && (l.VerifiedSeconds != 0 || l.DowntimeSeconds != 0):
		return fmt.Errorf("leaf with lease seconds but no lease: %w", ErrValue)
	}
	return nil
}

// DecodeLeaf reads exactly one valid leaf.
// Errors: ErrLength, ErrReserved, ErrValue.
func DecodeLeaf(b []byte) (Leaf, error) {
	var l Leaf
	if len(b) != LeafSize {
		return l, fmt.Errorf("leaf of %d bytes: %w", len(b), ErrLength)
	}
	if b[45] != 0 || !allZero(b[172:176]) {
		return l, fmt.Errorf("leaf: %w", ErrReserved)
	}
	le := binary.LittleEndian
	copy(l.Node[:], b[0:32])
	l.Period = Period(le.Uint64(b[32:40]))
	l.ChecksPassed = le.Uint16(b[40:42])
	l.ChecksTotal = le.Uint16(b[42:44])
	l.Tier = b[44]
	l.Flags = Flags(le.Uint16(b[46:48]))
	l.Operations = le.Uint32(b[48:52])
	l.UpSeconds = le.Uint32(b[52:56])
	copy(l.Lease[:], b[56:88])
	l.VerifiedSeconds = le.Uint32(b[88:92])
	l.DowntimeSeconds = le.Uint32(b[92:96])
	copy(l.DeviceRoot[:], b[96:128])
	copy(l.EvidenceHash[:], b[128:160])
	l.Bandwidth = le.Uint32(b[160:164])
	l.DownMbps = le.Uint32(b[164:168])
	l.UpMbps = le.Uint32(b[168:172])
	if err := l.Validate(); err != nil {
		return Leaf{}, err
	}
	return l, nil
}

// Compare orders leaves by node, then lease: the order of a report's tree.
func (l Leaf) Compare(o Leaf) int { return l.compare(&o) }

func (l *Leaf) compare(o *Leaf) int {
	if c := bytes.Compare(l.Node[:], o.Node[:]); c != 0 {
		return c
	}
	return bytes.Compare(l.Lease[:], o.Lease[:])
}

// SortLeaves brings leaves into the order of a report's tree.
func SortLeaves(leaves []Leaf) { slices.SortFunc(leaves, Leaf.Compare) }

// CheckLeafOrder verifies that leaves are strictly ascending and all of one period, as the tree of a report must be.
// Errors: ErrOrder, ErrValue.
func CheckLeafOrder(leaves []Leaf) error {
	for i := range leaves {
		if leaves[i].Period != leaves[0].Period {
			return fmt.Errorf("leaf %d of period %d in a report of period %d: %w", i, leaves[i].Period, leaves[0].Period, ErrValue)
		}
		if i > 0 && leaves[i-1].compare(&leaves[i]) >= 0 {
			return fmt.Errorf("leaf %d: %w", i, ErrOrder)
		}
	}
	return nil
}
