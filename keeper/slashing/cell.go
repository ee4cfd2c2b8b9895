package slashing

import (
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// wrongCell is an ix.WrongCell without the node's account, which is looked up when it is used.
type wrongCell struct {
	Node       [32]byte   `cbor:"1,keyasint"`
	Commitment []byte     `cbor:"2,keyasint"`
	Signature  [64]byte   `cbor:"3,keyasint"`
	Entry      []byte     `cbor:"4,keyasint"`
	Period     uint64     `cbor:"5,keyasint"`
	Tick       uint64     `cbor:"6,keyasint"`
	Slot       uint64     `cbor:"7,keyasint"`
	BlockHash  [32]byte   `cbor:"8,keyasint"`
	Round      uint32     `cbor:"9,keyasint"`
	Before     [32]byte   `cbor:"10,keyasint"`
	Leaf       uint32     `cbor:"11,keyasint"`
	Group      uint8      `cbor:"12,keyasint"`
	Bytes      []byte     `cbor:"13,keyasint"`
	Path       [][32]byte `cbor:"14,keyasint"`
	RoundPath  [][32]byte `cbor:"15,keyasint"`
}

// WrongCell takes a wrong byte of a measurement that a node has signed. It is on disk when the call returns without an
// error.
func (s *Service) WrongCell(w ix.WrongCell) error {
	_, err := s.take(entry{Cell: &wrongCell{
		Node: w.Node.Address, Commitment: w.Commitment, Signature: w.Signature, Entry: w.Entry[:],
		Period: w.Block.Period, Tick: w.Block.Tick, Slot: w.Block.Slot, BlockHash: w.Block.Hash,
		Round: w.Round, Before: w.Before, Leaf: w.Leaf, Group: w.Group, Bytes: w.Bytes[:], Path: w.Path, RoundPath: w.RoundPath,
	}})
	return err
}

// check is of what was read from the store. Error: store.ErrCorrupt.
func (c wrongCell) check() error {
	if len(c.Entry) != ix.EntryBytes || len(c.Bytes) != ix.MeasuredLeafBytes || int(c.Group) >= len(c.Bytes) {
		return fmt.Errorf("%w: wrong byte %d of a leaf of %d bytes, with an entry of %d", store.ErrCorrupt, c.Group, len(c.Bytes), len(c.Entry))
	}
	if _, err := measure.DecodeCommitment(c.Commitment); err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return nil
}

// of is the proof against the node as it is now.
func (c wrongCell) of(n *market.Node) ix.WrongCell {
	return ix.WrongCell{
		Node: *n, Commitment: c.Commitment, Signature: c.Signature, Entry: [ix.EntryBytes]byte(c.Entry),
		Block: ix.InstantBlock{Period: c.Period, Tick: c.Tick, Slot: c.Slot, Hash: c.BlockHash},
		Round: c.Round, Before: c.Before, Leaf: c.Leaf, Group: c.Group, Bytes: [ix.MeasuredLeafBytes]byte(c.Bytes),
		Path: c.Path, RoundPath: c.RoundPath,
	}
}

// committed reports whether a fraud proof is of this commitment's entry.
func (c wrongCell) committed(a *market.FraudProof) bool {
	signed, err := measure.DecodeCommitment(c.Commitment)
	entry, wrong := measure.DecodeEntry(c.Entry)
	return err == nil && wrong == nil && a.Period == c.Period && a.Seed == signed.Instant &&
		a.Gpu == entry.GPU && a.Root == entry.RoundsRoot && a.Profile == entry.Profile && a.Rounds == entry.Rounds
}

// opened reports whether a fraud proof of the commitment holds this leaf, and this byte of it.
func (c wrongCell) opened(a *market.FraudProof) bool {
	level := int(a.Level)
	return level <= len(c.Path) && a.Round == c.Round && a.Before == c.Before && a.Row == c.Leaf && a.Column == uint32(c.Group) &&
		a.Chunk == measure.Climb(measure.LeafHash((*[measure.LeafBytes]byte)(c.Bytes)), c.Leaf, c.Path[:level])
}

// cell takes the next of the three steps against a node, and reports whether nothing is left to do.
func (q *due) cell(c wrongCell) (done bool) {
	n, ok := q.v.Nodes[solana.PublicKey(c.Node)]
	if !ok || n.BadWorkPeriod >= c.Period || !q.known(n, c) {
		delete(q.s.others, c.Node)
		return true // closed, proven by another finder, or of a profile that the program has forgotten; leftovers closes a fraud proof of ours
	}
	mine := q.v.FraudProofs[market.FraudProofAddress(c.Node, q.finder())]
	group := fmt.Sprintf("work/%s", n.Address)
	id := fmt.Sprintf("%s/%s/%d/%d/%x", q.finder(), n.Address, c.Period, c.Entry[0], c.Entry[69:77])
	proof := c.of(n)
	switch {
	case mine == nil:
		first, wait := q.others(n.Address)
		if wait {
			return false
		}
		if !first {
			id += "/late" // the first try may have been given up for theirs
		}
		ixs, err := proof.Commit(q.finder())
		q.add(crank.FraudProofCommitment, group, id, ixs, err)
	case !c.committed(mine):
		instruction, err := ix.FraudProofClose(*mine)
		q.add(crank.FraudProofClose, "", closing(mine), []solana.Instruction{instruction}, err)
	case !c.opened(mine):
		instruction, err := proof.AddLeaf(q.finder())
		q.add(crank.FraudProofLeaf, "", id, []solana.Instruction{instruction}, err)
	default:
		if current, err := market.PeriodOf(q.now, q.v.Market.Params.PeriodSecs); err != nil || current < c.Period {
			q.fail(err)
			return false // the chain's clock is not there yet
		}
		instruction, err := proof.Prove(q.finder())
		q.add(crank.ProveWrongCell, "", id, []solana.Instruction{instruction}, err)
	}
	return false
}

// known reports whether the program can still compute what the commitment is of: by the profile of the node's model, or the
// one before it.
func (q *due) known(n *market.Node, c wrongCell) bool {
	m, ok := q.v.Models[n.Spec.Model]
	if !ok {
		return true // not read yet
	}
	profile := measure.Hash(c.Entry[1:33])
	return profile == market.ProfileOf(m.Profile).Hash() || profile == market.ProfileOf(m.PreviousProfile).Hash()
}

// others looks for fraud proofs of other finders against the node. first: there is none. wait: there is one, and its
// finder still has time to complete it. A finder that opens one and does not complete it delays our proof once only.
func (q *due) others(node solana.PublicKey) (first, wait bool) {
	since, known := q.s.others[node]
	if !known {
		for _, a := range q.v.FraudProofs {
			known = known || a.Node == node && a.Finder != q.finder()
		}
		if !known {
			return true, false
		}
		q.s.others[node], since = q.now, q.now
	}
	return false, q.now < since+int64(q.s.o.Delay/time.Second)
}

func closing(a *market.FraudProof) string {
	return fmt.Sprintf("%s/%d/%x", a.Address, a.Period, a.Root[:8])
}

// leftovers closes own fraud proofs of which the keeper holds no proof any more: another finder was first, or the proof
// is lost.
func (q *due) leftovers() {
	for _, address := range inOrder(q.v.FraudProofs) {
		a := q.v.FraudProofs[address]
		if a.Finder != q.finder() {
			continue
		}
		if _, ok := q.s.held[workName(a.Node)]; ok {
			continue
		}
		instruction, err := ix.FraudProofClose(*a)
		q.add(crank.FraudProofClose, "", closing(a), []solana.Instruction{instruction}, err)
	}
}
