package market

import "github.com/gantry-market/gantry/idl/bindings"

// always are the events that an instruction emits whenever it succeeds: all of these, and one of those.
type always struct {
	all, one [][8]byte
	silent   bool // it may change nothing, and then emits none
}

func all(kinds ...[8]byte) always { return always{all: kinds} }

// emits has every instruction of the program. The events are those that its handler emits on each path that succeeds
// (program/src/instructions).
var emits = map[[8]byte]always{
	bindings.Instruction_MarketInit:          all(bindings.Event_MarketInitialised),
	bindings.Instruction_MarketProposeParams: all(bindings.Event_ParamsProposed),
	bindings.Instruction_MarketApplyParams:   all(bindings.Event_ParamsApplied),
	bindings.Instruction_MarketPause:         all(bindings.Event_MarketPaused),
	bindings.Instruction_MarketProposeRoles:  all(bindings.Event_RolesProposed),
	bindings.Instruction_MarketApplyRoles:    all(bindings.Event_RolesApplied),
	bindings.Instruction_GpuModelPropose:     all(bindings.Event_GpuModelProposed),
	bindings.Instruction_GpuModelApply:       all(bindings.Event_GpuModelApplied),

	bindings.Instruction_ProviderRegister:       all(bindings.Event_ProviderRegistered),
	bindings.Instruction_ProviderSetPayout:      all(bindings.Event_ProviderPayoutSet),
	bindings.Instruction_ProviderStake:          all(bindings.Event_StakeAdded),
	bindings.Instruction_ProviderRequestUnstake: all(bindings.Event_UnstakeRequested),
	bindings.Instruction_ProviderWithdrawStake:  all(bindings.Event_StakeWithdrawn),
	bindings.Instruction_ProviderClose:          all(bindings.Event_ProviderClosed),

	bindings.Instruction_NodeRegister:     all(bindings.Event_NodeRegistered),
	bindings.Instruction_NodeUpdate:       all(bindings.Event_NodeUpdated),
	bindings.Instruction_NodeAcceptTerms:  all(bindings.Event_TermsAccepted),
	bindings.Instruction_NodeGuarantee:    all(bindings.Event_UptimeGuaranteed),
	bindings.Instruction_GuaranteeResolve: all(bindings.Event_GuaranteeResolved),
	bindings.Instruction_NodeReportDead:   all(bindings.Event_NodeDied),
	bindings.Instruction_NodeRetire:       all(bindings.Event_NodeRetired),
	bindings.Instruction_NodeClose:        all(bindings.Event_NodeClosed),
	bindings.Instruction_NodeSetEvidence:  all(bindings.Event_EvidenceSet),

	bindings.Instruction_KeeperRegister:    all(bindings.Event_KeeperRegistered),
	bindings.Instruction_KeeperSetSigner:   all(bindings.Event_KeeperSignerSet),
	bindings.Instruction_KeeperUpdate:      all(bindings.Event_KeeperUpdated),
	bindings.Instruction_KeeperActivate:    all(bindings.Event_KeeperActivated),
	bindings.Instruction_KeeperSuspend:     all(bindings.Event_KeeperSuspended),
	bindings.Instruction_KeeperRequestExit: all(bindings.Event_KeeperExitRequested),
	bindings.Instruction_KeeperWithdraw:    all(bindings.Event_KeeperWithdrawn),

	bindings.Instruction_CreditsDeposit:       all(bindings.Event_CreditsDeposited),
	bindings.Instruction_CreditsWithdraw:      all(bindings.Event_CreditsWithdrawn),
	bindings.Instruction_CreditsSetSessionKey: all(bindings.Event_SessionKeySet),
	bindings.Instruction_CreditsClose:         all(bindings.Event_CreditsClosed),

	bindings.Instruction_OrderCreate:  all(bindings.Event_OrderCreated),
	bindings.Instruction_OrderCancel:  all(bindings.Event_OrderCancelled),
	bindings.Instruction_OrderExpire:  all(bindings.Event_OrderExpired),
	bindings.Instruction_OrderReopen:  all(bindings.Event_OrderReopened),
	bindings.Instruction_OrderAward:   all(bindings.Event_LeaseAwarded),
	bindings.Instruction_AuctionOpen:  all(bindings.Event_AuctionOpened),
	bindings.Instruction_AuctionAward: all(bindings.Event_LeaseAwarded, bindings.Event_AuctionAwarded),
	bindings.Instruction_AuctionClose: all(bindings.Event_AuctionClosed),

	bindings.Instruction_LeaseStart:         all(bindings.Event_LeaseStarted),
	bindings.Instruction_LeaseAbort:         all(bindings.Event_LeaseAborted),
	bindings.Instruction_LeaseDecline:       all(bindings.Event_LeaseDeclined),
	bindings.Instruction_LeaseExtend:        all(bindings.Event_LeaseExtended),
	bindings.Instruction_LeaseSettleReceipt: all(bindings.Event_LeaseSettled),
	bindings.Instruction_LeaseSettleReport:  all(bindings.Event_LeaseSettled),
	// A lease of a convicted machine fails and waits for its move.
	bindings.Instruction_LeaseEnd: {
		one: [][8]byte{bindings.Event_LeaseEnded, bindings.Event_LeaseNoticed, bindings.Event_LeaseFailed},
	},
	bindings.Instruction_LeaseCheckpoint: all(bindings.Event_LeaseCheckpointed),
	bindings.Instruction_LeaseMigrate:    all(bindings.Event_LeaseMigrated),
	bindings.Instruction_LeaseRate:       all(bindings.Event_LeaseRated),
	bindings.Instruction_LeaseClose:      all(bindings.Event_LeaseClosed),

	// A keeper's vote for what it has voted for changes nothing.
	bindings.Instruction_ReportVote:  {silent: true},
	bindings.Instruction_ReportApply: all(bindings.Event_LeafApplied),
	bindings.Instruction_ReportClose: all(bindings.Event_ReportClosed),

	bindings.Instruction_FaultOpen:            all(bindings.Event_LeafApplied, bindings.Event_FaultOpened),
	bindings.Instruction_SlashApply:           all(bindings.Event_SlashApplied),
	bindings.Instruction_SlashCompensate:      all(bindings.Event_SlashCompensated),
	bindings.Instruction_SlashClose:           all(bindings.Event_SlashClosed),
	bindings.Instruction_SlashAppeal:          all(bindings.Event_FaultAppealed),
	bindings.Instruction_PayoutClaim:          all(bindings.Event_PayoutClaimed),
	bindings.Instruction_FraudProofCommitment: all(bindings.Event_FraudProofCommitted),
	bindings.Instruction_FraudProofLeaf:       all(bindings.Event_FraudProofLeafAdded),
	bindings.Instruction_FraudProofClose:      all(bindings.Event_FraudProofClosed),
	bindings.Instruction_ProveWrongCell:       all(bindings.Event_WrongCellProven, bindings.Event_FaultOpened),
	bindings.Instruction_ProveBetterAsk:       all(bindings.Event_UnjustAwardProven),
	bindings.Instruction_ProveOmittedBid:      all(bindings.Event_UnjustAwardProven),
	bindings.Instruction_ProveEquivocation:    all(bindings.Event_EquivocationProven),

	bindings.Instruction_DisputeOpen:    all(bindings.Event_DisputeOpened),
	bindings.Instruction_DisputeVote:    all(bindings.Event_DisputeVoted),
	bindings.Instruction_DisputeResolve: all(bindings.Event_DisputeResolved),
	bindings.Instruction_DisputeUphold:  all(bindings.Event_DisputeResolved, bindings.Event_FaultOpened),

	bindings.Instruction_OutageVote:  all(bindings.Event_OutageVoted),
	bindings.Instruction_LeaseOutage: all(bindings.Event_LeaseFailed, bindings.Event_FaultOpened),
	bindings.Instruction_OutageClose: all(bindings.Event_OutageClosed),

	bindings.Instruction_OutputCommit:  all(bindings.Event_OutputCommitted),
	bindings.Instruction_OutputReveal:  all(bindings.Event_OutputRevealed),
	bindings.Instruction_OutputResolve: all(bindings.Event_OutputsResolved),
	bindings.Instruction_OutputForfeit: all(bindings.Event_OutputForfeited),

	bindings.Instruction_RewardsAccrue:  all(bindings.Event_RewardsAccrued),
	bindings.Instruction_RewardsClaim:   all(bindings.Event_RewardsClaimed),
	bindings.Instruction_RewardsBuyBack: all(bindings.Event_BoughtBack),
	bindings.Instruction_EmissionClaim:  all(bindings.Event_Emitted),
}
