package ix

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
)

// Layouts of attest/work, which this package may not import.
const (
	// WorkClaimSize is the length of a work claim.
	WorkClaimSize = 128
	chunkEntries  = 32
	chunkBytes    = 4 * chunkEntries
	openingFixed  = 4 + 4 + chunkBytes + 1 // row, chunk, entries, sibling count
)

// BadWork is a wrong entry of a product that a node has signed. From attest/work it is made of Claim.Bytes, the node's
// signature over it, WrongEntryError.Opening.Bytes and WrongEntryError.Col.
type BadWork struct {
	Node      market.Node
	Claim     [WorkClaimSize]byte
	Signature solana.Signature
	Opening   []byte // of the chunk that holds the entry
	Column    int    // of the wrong entry
}

// opening is a decoded chunk opening.
type opening struct {
	row      uint16
	column   uint16
	chunk    [chunkBytes]byte
	siblings [][32]uint8
}

// opening decodes what is needed and checks that the parts belong together. It does not compute the product: the
// program does, and refuses what is right.
func (b BadWork) opening() (opening, error) {
	var o opening
	if node := solana.PublicKey(b.Claim[16:48]); node != b.Node.Address {
		return o, fmt.Errorf("%w: the work claim is of node %s", ErrInstruction, node)
	}
	if !b.Signature.Verify(b.Node.NodeKey, b.Claim[:]) {
		return o, fmt.Errorf("%w: the work claim is not signed by the node's key: %w", ErrInstruction, records.ErrSignature)
	}
	if len(b.Opening) < openingFixed {
		return o, fmt.Errorf("%w: an opening of %d bytes", ErrInstruction, len(b.Opening))
	}
	row, chunk := binary.LittleEndian.Uint32(b.Opening), binary.LittleEndian.Uint32(b.Opening[4:])
	order := binary.LittleEndian.Uint32(b.Claim[88:])
	count := int(b.Opening[openingFixed-1])
	switch {
	case b.Column < 0 || uint32(b.Column)/chunkEntries != chunk:
		return o, fmt.Errorf("%w: column %d is not in chunk %d", ErrInstruction, b.Column, chunk)
	case row >= order || uint32(b.Column) >= order || order > 1<<16:
		return o, fmt.Errorf("%w: entry (%d, %d) of a product of order %d", ErrInstruction, row, b.Column, order)
	case len(b.Opening) != openingFixed+32*count:
		return o, fmt.Errorf("%w: an opening of %d bytes with %d siblings", ErrInstruction, len(b.Opening), count)
	}
	o.row, o.column, o.chunk = uint16(row), uint16(b.Column), [chunkBytes]byte(b.Opening[8:])
	for i := range count {
		o.siblings = append(o.siblings, [32]byte(b.Opening[openingFixed+32*i:]))
	}
	return o, nil
}

// OpenFraudProof returns the first transaction's two instructions: the check of the node's signature, and the fraud
// proof, whose rent the finder pays. Error: ErrInstruction.
func (b BadWork) OpenFraudProof(finder solana.PublicKey) ([]solana.Instruction, error) {
	o, err := b.opening()
	if err != nil {
		return nil, err
	}
	signed, err := VerifySignature(b.Node.NodeKey, b.Signature, b.Claim[:])
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewFraudProofOpenInstruction(b.Claim, o.row, o.column, o.chunk, finder, market.MarketAddress(),
		b.Node.Address, market.FraudProofAddress(b.Node.Address, finder), solana.SysVarInstructionsPubkey, solana.SystemProgramID)
	if ix, err = finish(ix, err, bindings.Instruction_FraudProofOpen); err != nil {
		return nil, err
	}
	return []solana.Instruction{signed, ix}, nil
}

// Prove returns the second transaction's instruction, which convicts the node. The fault that it opens can be applied at
// once. Who brings the proof gets nothing of it but the rent. Error: ErrInstruction.
func (b BadWork) Prove(finder solana.PublicKey) (solana.Instruction, error) {
	o, err := b.opening()
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewProveBadWorkInstruction(o.siblings, finder, market.MarketAddress(), market.FraudProofAddress(b.Node.Address, finder),
		b.Node.Address, b.Node.Provider, market.WorkFaultAddress(b.Node.Address, finder, binary.LittleEndian.Uint64(b.Claim[48:])), solana.SystemProgramID)
	return finish(ix, err, bindings.Instruction_ProveBadWork)
}

// FraudProofClose closes a fraud proof that was not or cannot be completed; its rent comes back.
func FraudProofClose(a market.FraudProof) (solana.Instruction, error) {
	ix, err := bindings.NewFraudProofCloseInstruction(a.Finder, a.Address)
	return finish(ix, err, bindings.Instruction_FraudProofClose)
}

// ProveBetterAsk slashes the keeper that made the award; anyone may, until the challenge window closes. The finder's
// share waits in its payout.
func ProveBetterAsk(b market.BetterAsk, finder solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(b.Lease.Keeper)
	ix, err := bindings.NewProveBetterAskInstruction(finder, market.MarketAddress(), b.Order.Address, b.Lease.Address, b.Better.Address,
		b.Better.Provider, market.ModelAddress(b.Better.Spec.Model), keeper, market.StakeVaultAddress(keeper), market.RewardsAddress(),
		market.PayoutVaultAddress(), b.Market.StakeMint, market.PayoutAddress(finder, keeper), solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err, bindings.Instruction_ProveBetterAsk)
}
