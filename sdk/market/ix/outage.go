package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// OutageVoteArgs say that a node with leases does not answer a keeper.
type OutageVoteArgs struct {
	Keeper     solana.PublicKey // wallet
	Signer     solana.PublicKey // of the keeper; zero takes its wallet
	Node       solana.PublicKey
	LastAnswer int64 // unix second; a lease that started later counts as an answer
}

// OutageVote counts the vote at market.OutageAddress(node).
func OutageVote(a OutageVoteArgs) (solana.Instruction, error) {
	ix, err := bindings.NewOutageVoteInstruction(a.LastAnswer, or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), market.MarketAddress(), a.Node,
		market.OutageAddress(a.Node), solana.SystemProgramID)
	return finish(ix, err)
}

// LeaseOutageArgs fail a running lease of a node that was away by the keepers' votes.
type LeaseOutageArgs struct {
	Keeper solana.PublicKey // wallet
	Signer solana.PublicKey // of the keeper; zero takes its wallet
	Lease  market.Lease
	Model  uint16 // Node.Spec.Model
}

// LeaseOutage opens the fault at market.OutageFaultAddress(lease). It belongs into one transaction with LeaseMigrate.
func LeaseOutage(a LeaseOutageArgs) (solana.Instruction, error) {
	l := a.Lease
	ix, err := bindings.NewLeaseOutageInstruction(or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), market.MarketAddress(), market.OutageAddress(l.Node),
		l.Provider, l.Node, market.ModelAddress(a.Model), l.Address, market.OutageFaultAddress(l.Address), solana.SystemProgramID)
	return finish(ix, err)
}

// OutageClose gives the rent of votes back that count no more; anyone may.
func OutageClose(o market.Outage) (solana.Instruction, error) {
	ix, err := bindings.NewOutageCloseInstruction(o.Address, o.RentPayer)
	return finish(ix, err)
}
