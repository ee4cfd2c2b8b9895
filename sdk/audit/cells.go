package audit

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// Lengths of what the instructions of a proof of a wrong byte say before the siblings, with the discriminator.
const (
	commitmentArgs = 8 + 56 + measure.EntryBytes
	leafArgs       = 8 + 41 + measure.LeafBytes
)

// cellProof is what a fraud proof's transactions say, from the commitment to the proof.
type cellProof struct {
	measure.CellProof
	period     uint64
	instant    [32]byte // of the block that was named
	signer     solana.PublicKey
	entry      measure.Entry
	committed  bool // whether the commitment holds the entry
	commitment Tx
	leaf       Tx
}

// fromCell is how a fault of a wrong byte begins: what the node has committed to, the leaf, and the byte as it should be.
// until are the fraud proof's transactions up to the proof.
func (s *Slash) fromCell(until []Tx, v *bindings.WrongCellProven, fault *bindings.FaultOpened) {
	t := until[len(until)-1]
	s.Proof = ProvenWrongCell
	c := checks{gaps: s.gaps}
	c.require(market.WorkFaultAddress(v.Node, v.Finder, v.Period) == v.Fault, "the address is not that of this proof")
	c.require(fault.Node == v.Node && fault.Lease.IsZero(), "the fault is of another node or of one lease")
	p, ok := readCellProof(until, v)
	c.follows(ofAll, ok, "no signed commitment of the node and no leaf that fit were stored before it")
	if ok {
		c.follows(ofAll, p.Node == v.Node && market.NodeAddress(v.Provider, p.signer) == v.Node, "the commitment is of another node, or signed by another key")
		c.follows(ofAll, p.period == v.Period && p.Instant == p.instant, "the commitment's instant is not that of a block of period %d", v.Period)
		c.follows(ofAll, p.committed && p.entry.GPU == v.Gpu && p.entry.Profile == p.Profile.Hash(), "the entry is not of the commitment, GPU or profile")
		c.follows(ofAll, p.Round == v.Round && p.Leaf == v.Leaf && p.Group == v.Group && p.Bytes[p.Group] == v.Claimed, "the leaf that was stored is another")
		root, placed := p.RoundsRoot()
		c.follows(ofAll, placed && root == p.entry.RoundsRoot, "the leaf is not of the committed tree")
		if placed {
			right := p.Right()
			c.follows(ofAll, right == v.Right, "the byte is %d, and the program found %d", right, v.Right)
			c.follows(ofAll, right != v.Claimed, "what the node signed is right")
		}
		s.step(p.commitment, checks{}, "commitment", "node %s signed %d rounds of GPU %d in period %d", v.Node, p.Rounds, v.Gpu, v.Period)
		s.step(p.leaf, checks{}, "leaf", "byte %d of leaf %d of round %d is %d", v.Group, v.Leaf, v.Round, v.Claimed)
	}
	s.step(t, c, "proven", "the program computed %d; brought by %s; %s GNT at stake, about the time from %s on, without an appeal", v.Right, v.Finder,
		s.Amount, clock(fault.WindowFrom))
}

// readCellProof reads the last commitment and the last leaf before the proof, and the proof's own siblings. It holds
// nothing against each other: that is what the caller audits.
func readCellProof(txs []Tx, v *bindings.WrongCellProven) (p cellProof, ok bool) {
	proof := market.FraudProofAddress(v.Node, v.Finder)
	m := v.Profile
	var lower, upper []measure.Hash
	var committed, opened, proven bool
	for _, t := range txs {
		for _, ix := range t.Instructions {
			if ix.Program != market.ProgramID || len(ix.Data) < 8 || !slices.Contains(ix.Accounts, proof) {
				continue
			}
			switch d := ix.Data; [8]byte(d[:8]) {
			case bindings.Instruction_FraudProofCommitment:
				// A proof that was closed and opened again begins anew.
				p, committed = readCommitment(t, d)
				opened, proven = false, false
			case bindings.Instruction_FraudProofLeaf:
				if len(d) >= leafArgs && committed {
					p.leaf, opened = t, true
					p.Round, p.Before = binary.LittleEndian.Uint32(d[8:]), measure.Hash(d[12:44])
					p.Leaf, p.Group = binary.LittleEndian.Uint32(d[44:]), d[48]
					p.Bytes, lower = [measure.LeafBytes]byte(d[49:leafArgs]), siblings(d[leafArgs:])
				}
			case bindings.Instruction_ProveWrongCell:
				upper, proven = siblings(d[8:]), true
			}
		}
	}
	if !committed || !opened || !proven {
		return p, false
	}
	p.GPU, p.Rounds = p.entry.GPU, p.entry.Rounds
	p.Profile = market.ProfileOf(m)
	if p.Profile.Validate() != nil {
		return p, false
	}
	all := slices.Concat(lower, upper)
	depth := min(p.Profile.LeafDepth(), len(all))
	p.Path, p.RoundPath = all[:depth], all[depth:]
	return p, true
}

// readCommitment reads the commitment that the transaction checks a signature of, and what the instruction says of it.
func readCommitment(t Tx, data []byte) (p cellProof, ok bool) {
	if len(data) != commitmentArgs {
		return p, false
	}
	le := binary.LittleEndian
	for _, x := range signatures(t) {
		c, err := measure.DecodeCommitment(x.Message)
		if err != nil || !c.Signed(x.Key, x.Sig[:]) {
			continue
		}
		entry, err := measure.DecodeEntry(data[64:])
		if err != nil {
			continue
		}
		p.Place, p.entry, p.signer, p.commitment = c.Place, entry, x.Key, t
		p.period = le.Uint64(data[8:])
		// Whether the instant is at that tick nobody asks: an honest node signs no wrong byte for any.
		block, _ := instant.Draw(c.Domain, records.Period(p.period), int(le.Uint64(data[16:])), le.Uint64(data[24:]), [32]byte(data[32:64]), time.Time{})
		p.instant = block.Seed
		p.committed = slices.Contains(c.Entries, entry.Hash())
		ok = true
	}
	return p, ok
}

// siblings reads a list of hashes; nothing where the bytes are none.
func siblings(b []byte) []measure.Hash {
	if len(b) < 4 || uint64(len(b)-4) != 32*uint64(binary.LittleEndian.Uint32(b)) {
		return nil
	}
	var out []measure.Hash
	for b = b[4:]; len(b) > 0; b = b[32:] {
		out = append(out, measure.Hash(b))
	}
	return out
}
