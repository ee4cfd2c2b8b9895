package crank

import (
	"errors"
	"slices"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txform"
)

// Kind names what an action does; it is the instruction's name.
type Kind string

// The kinds, in the order in which they are tried.
const (
	KeeperActivate    Kind = "keeper_activate"
	KeeperSuspend     Kind = "keeper_suspend"
	OrderExpire       Kind = "order_expire"
	LeaseAbort        Kind = "lease_abort"
	ReportApply       Kind = "report_apply"
	NodeSetEvidence   Kind = "node_set_evidence"
	FaultOpen         Kind = "fault_open"
	LeaseEnd          Kind = "lease_end"
	LeaseSettleReport Kind = "lease_settle_report"
	SlashApply        Kind = "slash_apply"
	SlashCompensate   Kind = "slash_compensate"
	SlashClose        Kind = "slash_close"
	GuaranteeResolve  Kind = "guarantee_resolve"
	PayoutClaim       Kind = "payout_claim"
	LeaseClose        Kind = "lease_close"
	AuctionClose      Kind = "auction_close"
	OutputResolve     Kind = "output_resolve"
	OutputForfeit     Kind = "output_forfeit"
	DisputeResolve    Kind = "dispute_resolve"
	DisputeUphold     Kind = "dispute_uphold"
	DisputeVote       Kind = "dispute_vote"
	SlashAppeal       Kind = "slash_appeal"
	RewardsAccrue     Kind = "rewards_accrue"
	RewardsClaim      Kind = "rewards_claim"
	RewardsBuyBack    Kind = "rewards_buy_back"
	EmissionClaim     Kind = "emission_claim"
	ReportClose       Kind = "report_close"

	OutageVote      Kind = "outage_vote"
	LeaseOutage     Kind = "lease_outage"
	OutageClose     Kind = "outage_close"
	LeaseMigrate    Kind = "lease_migrate"
	FraudProofClose Kind = "fraud_proof_close"

	FraudProofCommitment Kind = "fraud_proof_commitment"
	FraudProofLeaf       Kind = "fraud_proof_leaf"
	ProveWrongCell       Kind = "prove_wrong_cell"

	ProveEquivocation Kind = "prove_equivocation"
	ProveBetterAsk    Kind = "prove_better_ask"
)

// Kinds lists all kinds.
var Kinds = []Kind{
	OutageVote, LeaseOutage, ProveEquivocation, ProveWrongCell, FraudProofLeaf, FraudProofCommitment, ProveBetterAsk, LeaseMigrate,
	KeeperActivate, KeeperSuspend, OrderExpire, LeaseAbort, ReportApply, FaultOpen, NodeSetEvidence, LeaseEnd, LeaseSettleReport, SlashApply, GuaranteeResolve,
	OutputResolve, OutputForfeit, DisputeVote, SlashAppeal, DisputeResolve, DisputeUphold, SlashCompensate, SlashClose, LeaseClose, AuctionClose, RewardsAccrue, RewardsClaim, PayoutClaim, RewardsBuyBack, EmissionClaim, ReportClose,
	FraudProofClose, OutageClose,
}

// Action is one thing to do.
type Action struct {
	Kind Kind
	// Key names the effect uniquely for all time. An account's address alone is not enough where it can be used again.
	Key string
	// Group is the item by which keepers are ranked, so that one of them sends actions that belong together.
	Group string
	// Mine: no other keeper can do this, so that there is no turn to wait for.
	Mine bool
	// Since is the unix second from which the action is due.
	Since        int64
	Instructions []solana.Instruction
}

// Batch is actions that share a transaction.
type Batch struct {
	Kind    Kind
	Actions []Action
}

// Keys returns the actions' keys.
func (b Batch) Keys() []string {
	out := make([]string, len(b.Actions))
	for i, a := range b.Actions {
		out[i] = a.Key
	}
	return out
}

// Instructions returns those of all actions, in order.
func (b Batch) Instructions() []solana.Instruction {
	var out []solana.Instruction
	for _, a := range b.Actions {
		out = append(out, a.Instructions...)
	}
	return out
}

// Pack puts neighbouring actions of one kind together as long as they fit a transaction of a form and number at most most.
// alone reports actions that must not share one, because they broke an earlier batch; it may be nil.
func Pack(actions []Action, payer solana.PublicKey, form txform.Form, most int, alone func(Action) bool) []Batch {
	var out []Batch
	for _, a := range actions {
		single := alone != nil && alone(a)
		if n := len(out); n > 0 && !single {
			last := &out[n-1]
			joined := Batch{a.Kind, append(last.Actions[:len(last.Actions):len(last.Actions)], a)}
			if last.Kind == a.Kind && len(last.Actions) < most && !(alone != nil && alone(last.Actions[0])) && form.Holds(payer, joined.Instructions()...) {
				*last = joined
				continue
			}
		}
		out = append(out, Batch{a.Kind, []Action{a}})
	}
	return out
}

// benign are refusals beyond market.AlreadyDone that mean that another keeper was faster, or that the chain's clock is
// behind ours, by kind of action.
var benign = map[Kind][]market.Code{
	KeeperActivate:  {market.CodeTooEarly},
	KeeperSuspend:   {bindings.ErrorCodeKeeperNotIdle},
	OrderExpire:     {market.CodeTooEarly},
	LeaseAbort:      {market.CodeTooEarly},
	ReportApply:     {market.CodeLeafCarriesFault},
	FaultOpen:       {market.CodeNoFault, market.CodeLeafCarriesFault},
	LeaseEnd:        {market.CodeUnauthorised},
	SlashApply:      {market.CodeAppealWindowOpen, bindings.ErrorCodeAlreadyApplied},
	SlashCompensate: {bindings.ErrorCodeAlreadyCounted},
	SlashClose:      {market.CodeTooEarly},
	GuaranteeResolve: {
		bindings.ErrorCodeNotGuaranteed, bindings.ErrorCodeFaultPending, bindings.ErrorCodeWrongAccount, market.CodeTooEarly,
	},
	LeaseClose:     {bindings.ErrorCodeUnsettled, bindings.ErrorCodeFaultPending, market.CodeTooEarly},
	AuctionClose:   {market.CodeTooEarly, bindings.ErrorCodeStillInUse},
	OutputResolve:  {bindings.ErrorCodeWrongOutputState, bindings.ErrorCodeWrongAccount, market.CodeTooEarly},
	OutputForfeit:  {bindings.ErrorCodeWrongOutputState},
	DisputeResolve: {market.CodeTooEarly, bindings.ErrorCodeDisputeUpheld},
	DisputeVote:    {market.CodeTooLate, market.CodeAlreadyVoted},
	SlashAppeal:    {bindings.ErrorCodeAlreadyCounted, bindings.ErrorCodeAppealWindowClosed},
	RewardsAccrue:  {market.CodeTooEarly, bindings.ErrorCodeNothingOwed},
	RewardsClaim:   {bindings.ErrorCodeNothingOwed},
	RewardsBuyBack: {bindings.ErrorCodeNothingOwed, bindings.ErrorCodePriceTooHigh},
	EmissionClaim:  {bindings.ErrorCodeNothingOwed},
	ReportClose:    {market.CodeTooEarly},
	PayoutClaim:    {market.CodeTooEarly},

	NodeSetEvidence: {
		bindings.ErrorCodeClaimsStand, bindings.ErrorCodeEvidenceTooWeak, bindings.ErrorCodeMissingAccount,
		bindings.ErrorCodeWrongDevices, bindings.ErrorCodeDeviceClaimed,
	},
	LeaseMigrate: {market.CodeUnauthorised, bindings.ErrorCodeMigrationNotAllowed},
	// A node whose last lease has ended needs no vote.
	OutageVote:        {market.CodeAlreadyVoted, market.CodeTooEarly, bindings.ErrorCodeWrongNodeStatus},
	LeaseOutage:       {bindings.ErrorCodeNoOutage, bindings.ErrorCodeWrongLeaseStatus, bindings.ErrorCodeMigrationNotAllowed},
	OutageClose:       {market.CodeTooEarly},
	ProveWrongCell:    {bindings.ErrorCodeAlreadyProven, market.CodeTooEarly},
	ProveEquivocation: {bindings.ErrorCodeWrongKeeperStatus},
	ProveBetterAsk:    {bindings.ErrorCodeNotContestable, bindings.ErrorCodeNotBetter},
}

// gone are the runtime's names for accounts that somebody has created or closed in between.
var gone = []string{
	"AccountAlreadyInitialized", "UninitializedAccount", "IllegalOwner", "InvalidAccountOwner", "InvalidAccountData",
	"AccountDataTooSmall",
}

// The framework's errors about accounts: gone, not there yet, or of another type.
const (
	frameworkFirst = 2000
	frameworkLast  = 3999
)

// Benign reports whether a refusal means that another keeper did it first, or that the chain's clock is behind ours.
// Whether that is so shows in the accounts, which are looked at again before the next try.
func Benign(kind Kind, err error) bool {
	var pe *txerr.ProgramError
	if !errors.As(err, &pe) {
		return false
	}
	if market.AlreadyDone(err) || market.Is(err, benign[kind]...) {
		return true
	}
	if !pe.HasCode {
		return slices.Contains(gone, pe.Name)
	}
	return pe.Program == market.ProgramID && pe.Code >= frameworkFirst && pe.Code <= frameworkLast
}
