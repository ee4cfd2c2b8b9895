package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ReportVoteArgs vote for the root of a period's report.
type ReportVoteArgs struct {
	Keeper solana.PublicKey // wallet
	Signer solana.PublicKey // of the keeper; zero takes its wallet
	Period uint64
	Root   [32]byte
}

// ReportVote creates the report with its first vote.
func ReportVote(a ReportVoteArgs) (solana.Instruction, error) {
	ix, err := bindings.NewReportVoteInstruction(a.Period, a.Root, or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), market.MarketAddress(),
		market.ReportAddress(a.Period), solana.SystemProgramID)
	return finish(ix, err)
}

// LeafProof is a report leaf and what leads from it to the root.
type LeafProof struct {
	Leaf     records.Leaf
	Path     uint32
	Siblings []records.Hash
	// LeaseClosed says that the lease which the leaf names is closed: then only what it says of the node counts.
	LeaseClosed bool
}

// leases are the two optional accounts of a call: the lease, or the address of a closed one.
func (p LeafProof) leases() (live, closed solana.PublicKey) {
	if p.LeaseClosed {
		return optional(solana.PublicKey{}), optional(p.Leaf.Lease)
	}
	return optional(p.Leaf.Lease), optional(solana.PublicKey{})
}

// NewLeafProof joins a leaf with its proof in a report's tree.
func NewLeafProof(leaf records.Leaf, proof records.Proof) LeafProof {
	return LeafProof{Leaf: leaf, Path: proof.Path(), Siblings: proof.Siblings}
}

// Root is where the proof leads.
func (p LeafProof) Root() records.Hash {
	b := p.Leaf.Encode()
	return records.RootOf(records.LeafHash(b[:]), p.Path, p.Siblings)
}

func (p LeafProof) siblings() [][32]uint8 {
	out := make([][32]uint8, len(p.Siblings))
	for i, s := range p.Siblings {
		out[i] = s
	}
	return out
}

// ReportApply applies a leaf without a fault; anyone may.
func ReportApply(p LeafProof) (solana.Instruction, error) {
	live, closed := p.leases()
	ix, err := bindings.NewReportApplyInstruction(p.Leaf.Encode(), p.Path, p.siblings(), market.MarketAddress(),
		market.ReportAddress(uint64(p.Leaf.Period)), p.Leaf.Node, live, closed)
	return finish(ix, err)
}

// FaultOpenArgs open a fault that a leaf carries.
type FaultOpenArgs struct {
	Payer solana.PublicKey
	Node  market.Node
	// OfNode opens the fault of the machine, which is one for all its leases; else that of the leaf's lease.
	OfNode bool
	Proof  LeafProof
}

// FaultOpen applies the leaf to the node, or to its lease, and creates the fault at FaultAddress(node, lease, period),
// with no lease for the machine's; anyone may.
func FaultOpen(a FaultOpenArgs) (solana.Instruction, error) {
	leaf := a.Proof.Leaf
	lease := leaf.Lease
	if a.OfNode {
		lease = solana.PublicKey{}
	}
	ix, err := bindings.NewFaultOpenInstruction(flag(a.OfNode), leaf.Encode(), a.Proof.Path, a.Proof.siblings(), a.Payer, market.MarketAddress(),
		market.ReportAddress(uint64(leaf.Period)), a.Node.Node.Provider, leaf.Node, market.ModelAddress(a.Node.Spec.Model), optional(lease),
		market.FaultAddress(leaf.Node, lease, uint64(leaf.Period)), solana.SystemProgramID)
	return finish(ix, err)
}

// ReportClose closes a report whose retention has passed; anyone may.
func ReportClose(r market.Report) (solana.Instruction, error) {
	ix, err := bindings.NewReportCloseInstruction(market.MarketAddress(), market.RewardsAddress(), r.Address, r.RentPayer)
	return finish(ix, err)
}

// SlashApplyArgs apply a fault whose appeal window has passed.
type SlashApplyArgs struct {
	Payer     solana.PublicKey
	Fault     market.Fault
	StakeMint solana.PublicKey
}

// SlashApply takes the stake, burns its part of it and sets the rest aside; anyone may.
func SlashApply(a SlashApplyArgs) (solana.Instruction, error) {
	f := a.Fault
	ix, err := bindings.NewSlashApplyInstruction(a.Payer, market.MarketAddress(), f.Provider, market.StakeVaultAddress(f.Provider),
		f.Node, optional(f.Lease), f.Address, market.RewardsAddress(), market.PayoutVaultAddress(), a.StakeMint,
		market.PayoutAddress(f.Finder, f.Address), solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err)
}

// SlashCompensateArgs have an applied fault compensate a lease.
type SlashCompensateArgs struct {
	Payer solana.PublicKey
	Fault market.Fault
	Lease market.Lease
}

// SlashCompensate gives the lease's customer its part of the pool in a payout, once; anyone may.
func SlashCompensate(a SlashCompensateArgs) (solana.Instruction, error) {
	f, l := a.Fault, a.Lease
	ix, err := bindings.NewSlashCompensateInstruction(a.Payer, f.Node, l.Address, f.Address, market.PayoutAddress(l.Customer, f.Address),
		solana.SystemProgramID)
	return finish(ix, err)
}

// SlashClose burns what was not claimed and closes the fault; anyone may.
func SlashClose(f market.Fault, stakeMint solana.PublicKey) (solana.Instruction, error) {
	lease := f.Lease
	if f.Compensated == 1 {
		lease = solana.PublicKey{} // it may be closed
	}
	ix, err := bindings.NewSlashCloseInstruction(market.MarketAddress(), market.RewardsAddress(), market.PayoutVaultAddress(), stakeMint,
		optional(lease), f.Address, f.RentPayer, solana.TokenProgramID)
	return finish(ix, err)
}

// PayoutClaim sends a payout whose delay is over to its beneficiary's associated stake-token account, which must exist:
// see CreateTokenAccount. Anyone may.
func PayoutClaim(p market.Payout, stakeMint solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewPayoutClaimInstruction(market.MarketAddress(), market.RewardsAddress(), market.PayoutVaultAddress(), p.Address,
		p.RentPayer, market.TokenAddress(p.Beneficiary, stakeMint), solana.TokenProgramID)
	return finish(ix, err)
}

// SlashAppealArgs bring a keeper's statement that contradicts a fault.
type SlashAppealArgs struct {
	Fault     market.Fault
	Keeper    solana.PublicKey // wallet of the keeper that signed
	Signer    solana.PublicKey // the key that it signed with; zero takes its wallet
	Statement records.CheckStatement
	Signature solana.Signature
}

// SlashAppeal returns two instructions that belong together: the check of the keeper's signature and the appeal; anyone
// may send them. Errors: ErrInstruction, records.ErrSignature.
func SlashAppeal(a SlashAppealArgs) ([]solana.Instruction, error) {
	if err := a.Statement.Verify(or(a.Signer, a.Keeper), a.Signature); err != nil {
		return nil, fmt.Errorf("%w: keeper's signature: %w", ErrInstruction, err)
	}
	f, message := a.Fault, a.Statement.Encode()
	signed, err := VerifySignature(or(a.Signer, a.Keeper), a.Signature, message[:])
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewSlashAppealInstruction(message, market.MarketAddress(), market.KeeperAddress(a.Keeper), f.Provider, f.Node,
		optional(f.Lease), f.Address, f.RentPayer, solana.SysVarInstructionsPubkey)
	if ix, err = finish(ix, err); err != nil {
		return nil, err
	}
	return []solana.Instruction{signed, ix}, nil
}

// CreateTokenAccount creates a wallet's associated token account unless it exists.
func CreateTokenAccount(payer, wallet, mint solana.PublicKey) solana.Instruction {
	const createIdempotent = 1
	return solana.NewInstruction(solana.SPLAssociatedTokenAccountProgramID, solana.AccountMetaSlice{
		solana.NewAccountMeta(payer, true, true),
		solana.NewAccountMeta(market.TokenAddress(wallet, mint), true, false),
		solana.NewAccountMeta(wallet, false, false),
		solana.NewAccountMeta(mint, false, false),
		solana.NewAccountMeta(solana.SystemProgramID, false, false),
		solana.NewAccountMeta(solana.TokenProgramID, false, false),
	}, []byte{createIdempotent})
}
