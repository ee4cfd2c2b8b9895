package report

import (
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/sdk/records"
)

// MaxLeafSet bounds the encoded leaves of a report, bytes: some 190,000 leaves.
const MaxLeafSet = 32 << 20

// ErrLeafSet: the bytes are not the leaves of the report.
var ErrLeafSet = errors.New("not the leaves of the report")

// EncodeLeaves is the leaves of a set one after the other, as they travel and are kept.
func (s *Set) EncodeLeaves() []byte {
	out := make([]byte, 0, len(s.Leaves)*records.LeafSize)
	for i := range s.Leaves {
		b := s.Leaves[i].Encode()
		out = append(out, b[:]...)
	}
	return out
}

// ReadLeaves decodes leaves and checks that they lead to a root, without judging where they come from: for roots that
// the chain has made final. Error: ErrLeafSet.
func ReadLeaves(raw []byte, p records.Period, root records.Hash) (*Set, error) {
	if len(raw)%records.LeafSize != 0 || len(raw) > MaxLeafSet {
		return nil, fmt.Errorf("%w: %d bytes", ErrLeafSet, len(raw))
	}
	leaves := make([]records.Leaf, 0, len(raw)/records.LeafSize)
	for i := 0; i < len(raw); i += records.LeafSize {
		l, err := records.DecodeLeaf(raw[i : i+records.LeafSize])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLeafSet, err)
		}
		leaves = append(leaves, l)
	}
	set, err := NewSet(leaves)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLeafSet, err)
	}
	if set.Root != root || set.Period != p {
		return nil, fmt.Errorf("%w: it has the root %x of period %d", ErrLeafSet, set.Root[:8], set.Period)
	}
	return set, nil
}
