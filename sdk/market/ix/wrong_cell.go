package ix

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Layouts of attest/measure, which this package may not import.
const (
	// EntryBytes is the length of an entry of a commitment.
	EntryBytes = 145
	// MeasuredLeafBytes is the length of a leaf.
	MeasuredLeafBytes = 256
	commitmentHead    = 105
	commitmentNode    = 72
	maxCommitment     = commitmentHead + 8*32
	// firstSiblings is how many siblings of the leaf's path go with it: more do not fit the transaction.
	firstSiblings = 20
)

// WrongCellUnits is the compute budget that the transaction of [WrongCell.Prove] asks for: at the largest order it takes
// more than the 200,000 units that an instruction has by itself.
const WrongCellUnits = 500_000

// InstantBlock is the block that made an instant: tick Tick of the period had it at Slot.
type InstantBlock struct {
	Period, Tick, Slot uint64
	Hash               [32]byte
}

// WrongCell is a wrong byte of a measurement that a node has signed. Commitment, signature and entry are what the node
// sent; all that follows is in a measure.WrongCell.
type WrongCell struct {
	Node       market.Node
	Commitment []byte
	Signature  solana.Signature
	Entry      [EntryBytes]byte // of the GPU
	Block      InstantBlock     // of the commitment's instant
	Round      uint32
	Before     [32]byte
	Leaf       uint32 // its number in the round
	Group      uint8  // place of the byte in the leaf
	Bytes      [MeasuredLeafBytes]byte
	Path       [][32]byte
	RoundPath  [][32]byte
}

// check holds the parts against each other. It does not compute the byte: the program does, and refuses what is right.
func (w WrongCell) check() error {
	if n := len(w.Commitment); n < commitmentHead || n > maxCommitment || (n-commitmentHead)%32 != 0 {
		return fmt.Errorf("%w: a commitment of %d bytes", ErrInstruction, n)
	}
	if node := solana.PublicKey(w.Commitment[commitmentNode : commitmentNode+32]); node != w.Node.Address {
		return fmt.Errorf("%w: the commitment is of node %s", ErrInstruction, node)
	}
	if !w.Signature.Verify(w.Node.NodeKey, w.Commitment) {
		return fmt.Errorf("%w: the commitment is not signed by the node's key: %w", ErrInstruction, records.ErrSignature)
	}
	tag := sha256.Sum256([]byte("gantry/measure/1/gpu"))
	hash := sha256.Sum256(append(tag[:], w.Entry[:]...))
	for held := w.Commitment[commitmentHead:]; len(held) > 0; held = held[32:] {
		if bytes.Equal(held[:32], hash[:]) {
			return nil
		}
	}
	return fmt.Errorf("%w: the commitment does not hold the entry of GPU %d", ErrInstruction, w.Entry[0])
}

func (w WrongCell) split() (first, rest [][32]byte) {
	n := min(firstSiblings, len(w.Path))
	return w.Path[:n], append(append([][32]byte{}, w.Path[n:]...), w.RoundPath...)
}

// Commit returns the first transaction's two instructions: the check of the node's signature, and the fraud proof, whose
// rent the finder pays. Error: ErrInstruction.
func (w WrongCell) Commit(finder solana.PublicKey) ([]solana.Instruction, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	signed, err := VerifySignature(w.Node.NodeKey, w.Signature, w.Commitment)
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewFraudProofCommitmentInstruction(bindings.InstantBlock(w.Block), w.Entry, finder, market.MarketAddress(),
		w.Node.Address, market.FraudProofAddress(w.Node.Address, finder), solana.SysVarInstructionsPubkey, solana.SystemProgramID)
	if ix, err = finish(ix, err); err != nil {
		return nil, err
	}
	return []solana.Instruction{signed, ix}, nil
}

// AddLeaf returns the second transaction's instruction, which stores the leaf. Error: ErrInstruction.
func (w WrongCell) AddLeaf(finder solana.PublicKey) (solana.Instruction, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	first, _ := w.split()
	place := bindings.CellPlace{Round: w.Round, Before: w.Before, Leaf: w.Leaf, Group: w.Group}
	ix, err := bindings.NewFraudProofLeafInstruction(place, w.Bytes, first, finder, market.FraudProofAddress(w.Node.Address, finder))
	return finish(ix, err)
}

// Prove returns the third transaction's instruction, which convicts the node; the transaction needs a limit of
// [WrongCellUnits]. The fault that it opens can be applied at once. Who brings the proof gets nothing of it but the rent.
// Error: ErrInstruction.
func (w WrongCell) Prove(finder solana.PublicKey) (solana.Instruction, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	_, rest := w.split()
	ix, err := bindings.NewProveWrongCellInstruction(rest, finder, market.MarketAddress(), market.FraudProofAddress(w.Node.Address, finder),
		w.Node.Address, w.Node.Provider, market.ModelAddress(w.Node.Spec.Model), market.WorkFaultAddress(w.Node.Address, finder, w.Block.Period),
		solana.SystemProgramID)
	return finish(ix, err)
}

// FraudProofClose closes a fraud proof that was not or cannot be completed; its rent comes back.
func FraudProofClose(a market.FraudProof) (solana.Instruction, error) {
	ix, err := bindings.NewFraudProofCloseInstruction(a.Finder, a.Address)
	return finish(ix, err)
}
