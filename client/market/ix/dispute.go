package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/idl/bindings"
)

// DisputeOpenArgs dispute a lease. Complaint is the sha256 of the text that the customer has published.
type DisputeOpenArgs struct {
	Lease     market.Lease
	Kind      market.DisputeKind
	Complaint [32]byte
}

// DisputeOpen is the customer's; it reserves Params.DisputeDeposit.
func DisputeOpen(a DisputeOpenArgs) (solana.Instruction, error) {
	l := a.Lease
	ix, err := bindings.NewDisputeOpenInstruction(uint8(a.Kind), a.Complaint, l.Customer, market.MarketAddress(), market.CreditsAddress(l.Customer),
		l.Provider, l.Node, l.Address, market.DisputeAddress(l.Address), solana.SystemProgramID)
	return finish(ix, err, bindings.Instruction_DisputeOpen)
}

// DisputeVoteArgs are a keeper's vote.
type DisputeVoteArgs struct {
	Keeper  solana.PublicKey // wallet
	Dispute solana.PublicKey
	Uphold  bool // for the customer
}

// DisputeVote is a keeper's.
func DisputeVote(a DisputeVoteArgs) (solana.Instruction, error) {
	ix, err := bindings.NewDisputeVoteInstruction(flag(a.Uphold), a.Keeper, market.KeeperAddress(a.Keeper), a.Dispute)
	return finish(ix, err, bindings.Instruction_DisputeVote)
}

// DisputeResolve closes a dispute that was rejected, or not decided in time; anyone may.
func DisputeResolve(d market.Dispute, l market.Lease) (solana.Instruction, error) {
	credits := market.CreditsAddress(d.Customer)
	ix, err := bindings.NewDisputeResolveInstruction(market.MarketAddress(), market.RewardsAddress(), market.FeeVaultAddress(), credits,
		market.CreditsVaultAddress(credits), l.Provider, d.Node, d.Lease, d.Address, d.Customer, solana.TokenProgramID)
	return finish(ix, err, bindings.Instruction_DisputeResolve)
}

// DisputeUpholdArgs turn an upheld dispute into a fault.
type DisputeUpholdArgs struct {
	Payer   solana.PublicKey
	Dispute market.Dispute
	Lease   market.Lease
	Period  uint64 // the running one
}

// DisputeUphold opens the fault at FaultAddress(node, lease, period); anyone may.
func DisputeUphold(a DisputeUpholdArgs) (solana.Instruction, error) {
	d := a.Dispute
	ix, err := bindings.NewDisputeUpholdInstruction(a.Period, a.Payer, market.MarketAddress(), market.CreditsAddress(d.Customer), a.Lease.Provider,
		d.Node, d.Lease, d.Address, d.Customer, market.FaultAddress(d.Node, d.Lease, a.Period), solana.SystemProgramID)
	return finish(ix, err, bindings.Instruction_DisputeUphold)
}
