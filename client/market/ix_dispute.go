package market

import (
	"math/bits"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// DisputeKind is what a customer says is wrong with a lease.
type DisputeKind uint8

// Kinds of disputes, as in program/src/state/dispute.rs.
const (
	// DisputeNotDelivered: the job did not run as it was ordered.
	DisputeNotDelivered DisputeKind = 1
	// DisputeBadOutput: it ran, and its output is wrong.
	DisputeBadOutput DisputeKind = 2
)

// DisputeOpenArgs dispute a lease. Evidence is sha256 of what the customer has published.
type DisputeOpenArgs struct {
	Lease    Lease
	Kind     DisputeKind
	Evidence [32]byte
}

// DisputeOpen is the customer's; it reserves Params.DisputeDeposit.
func DisputeOpen(a DisputeOpenArgs) (solana.Instruction, error) {
	l := a.Lease
	ix, err := bindings.NewDisputeOpenInstruction(uint8(a.Kind), a.Evidence, l.Customer, MarketAddress(), CreditsAddress(l.Customer),
		l.Provider, l.Node, l.Address, DisputeAddress(l.Address), solana.SystemProgramID)
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
	ix, err := bindings.NewDisputeVoteInstruction(flag(a.Uphold), a.Keeper, KeeperAddress(a.Keeper), a.Dispute)
	return finish(ix, err, bindings.Instruction_DisputeVote)
}

// DisputeResolve closes a dispute that was rejected, or not decided in time; anyone may.
func DisputeResolve(d Dispute, l Lease) (solana.Instruction, error) {
	credits := CreditsAddress(d.Customer)
	ix, err := bindings.NewDisputeResolveInstruction(MarketAddress(), RewardsAddress(), FeeVaultAddress(), credits,
		CreditsVaultAddress(credits), l.Provider, d.Node, d.Lease, d.Address, d.Customer, solana.TokenProgramID)
	return finish(ix, err, bindings.Instruction_DisputeResolve)
}

// DisputeUpholdArgs turn an upheld dispute into a fault.
type DisputeUpholdArgs struct {
	Payer   solana.PublicKey
	Dispute Dispute
	Lease   Lease
	Period  uint64 // the running one
}

// DisputeUphold opens the fault at FaultAddress(node, lease, period); anyone may.
func DisputeUphold(a DisputeUpholdArgs) (solana.Instruction, error) {
	d := a.Dispute
	ix, err := bindings.NewDisputeUpholdInstruction(a.Period, a.Payer, MarketAddress(), CreditsAddress(d.Customer), a.Lease.Provider,
		d.Node, d.Lease, d.Address, d.Customer, FaultAddress(d.Node, d.Lease, a.Period), solana.SystemProgramID)
	return finish(ix, err, bindings.Instruction_DisputeUphold)
}

// Verdict is how far the votes on a dispute have come.
type Verdict uint8

// The verdicts.
const (
	// VerdictNone: neither side has the quorum.
	VerdictNone Verdict = iota
	VerdictUpheld
	VerdictRejected
)

// Verdict counts the votes as the program does.
func (d *Dispute) Verdict(quorumBPS uint16) Verdict {
	has := func(weight uint64) bool {
		high, low := bits.Mul64(weight, 10_000)
		needHigh, needLow := bits.Mul64(d.TotalWeight, uint64(quorumBPS))
		return weight > 0 && (high > needHigh || high == needHigh && low >= needLow)
	}
	switch {
	case has(d.UpheldWeight):
		return VerdictUpheld
	case has(d.RejectedWeight):
		return VerdictRejected
	}
	return VerdictNone
}
