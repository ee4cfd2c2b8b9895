package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// DisputeOpenArgs dispute a lease. Complaint is the sha256 of the text that the customer has published.
type DisputeOpenArgs struct {
	Lease     market.Lease
	Kind      market.DisputeKind
	Complaint [32]byte
}

// DisputeOpen is the customer's; it reserves market.DisputeDeposit.
func DisputeOpen(a DisputeOpenArgs) (solana.Instruction, error) {
	l := a.Lease
	ix, err := bindings.NewDisputeOpenInstruction(uint8(a.Kind), a.Complaint, l.Customer, market.MarketAddress(), market.CreditsAddress(l.Customer),
		l.Node, l.Address, market.DisputeAddress(l.Address), solana.SystemProgramID)
	return finish(ix, err)
}

// DisputeVoteArgs are a keeper's vote.
type DisputeVoteArgs struct {
	Keeper  solana.PublicKey // wallet
	Signer  solana.PublicKey // of the keeper; zero takes its wallet
	Dispute solana.PublicKey
	Uphold  bool // for the customer
}

// DisputeVote is a keeper's.
func DisputeVote(a DisputeVoteArgs) (solana.Instruction, error) {
	ix, err := bindings.NewDisputeVoteInstruction(flag(a.Uphold), or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), a.Dispute)
	return finish(ix, err)
}

// DisputeResolveArgs close a dispute that the customer has not won.
type DisputeResolveArgs struct {
	Dispute market.Dispute
	Lease   market.Lease
	Payout  solana.PublicKey // of the lease's provider
}

// DisputeResolve closes a dispute that was rejected, or not decided in time; anyone may.
func DisputeResolve(a DisputeResolveArgs) (solana.Instruction, error) {
	d, l := a.Dispute, a.Lease
	credits := market.CreditsAddress(d.Customer)
	ix, err := bindings.NewDisputeResolveInstruction(market.MarketAddress(), market.RewardsAddress(), market.FeeVaultAddress(), credits,
		market.CreditsVaultAddress(credits), l.Provider, a.Payout, d.Node, d.Lease, d.Address, d.Customer, solana.TokenProgramID)
	return finish(ix, err)
}

// DisputeUpholdArgs turn an upheld dispute into a fault.
type DisputeUpholdArgs struct {
	Payer   solana.PublicKey
	Dispute market.Dispute
	Lease   market.Lease
	Model   uint16 // Node.Spec.Model
}

// DisputeUphold opens the fault at market.DisputeFaultAddress(lease); anyone may.
func DisputeUphold(a DisputeUpholdArgs) (solana.Instruction, error) {
	d := a.Dispute
	ix, err := bindings.NewDisputeUpholdInstruction(a.Payer, market.MarketAddress(), market.CreditsAddress(d.Customer), a.Lease.Provider,
		d.Node, market.ModelAddress(a.Model), d.Lease, d.Address, d.Customer, market.DisputeFaultAddress(d.Lease), solana.SystemProgramID)
	return finish(ix, err)
}
