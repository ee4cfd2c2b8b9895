package market

import (
	"fmt"
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/records"
)

// The methods below are twins of program/src/state/lease.rs and of the checks of the instructions that they name, for
// deciding off chain what is worth sending. now is a unix second of the chain's clock.

// BillableSecs is how many seconds can at most be owed at now.
func (l *Lease) BillableSecs(now int64) uint32 {
	if l.StartedAt == 0 {
		return 0
	}
	until := min(now, l.FundedUntil)
	if l.EndedAt != 0 {
		until = min(until, l.EndedAt)
	}
	elapsed := uint64(max(satSub(until, l.StartedAt), 0))
	secs := uint32(min(elapsed, math.MaxUint32))
	if secs < l.DowntimeSecs {
		return 0
	}
	return secs - l.DowntimeSecs
}

// ExtensionCost is what lease_extend reserves for more seconds: from totals, so that extending twice costs the same as extending
// once. Errors: bindings.ErrorCodeInvalidDuration, or an overflow.
func (l *Lease) ExtensionCost(seconds uint32) (USDC, error) {
	before := uint32(max(0, l.FundedUntil-l.StartedAt))
	after := uint64(before) + uint64(seconds)
	if seconds == 0 || after > MaxDurationSecs {
		return 0, bindings.ErrorCodeInvalidDuration
	}
	with, err := l.Owed(uint32(after))
	if err != nil {
		return 0, err
	}
	without, err := l.Owed(before)
	if err != nil {
		return 0, err
	}
	return with - without, nil
}

// NoticeOver is when the provider may end the lease after the notice that it has given, unix seconds. It is the twin of
// Lease::notice_over.
func (l *Lease) NoticeOver() int64 {
	over := l.NoticeAt + int64(l.NoticeSecs)
	if l.Interruptible == 0 {
		return over
	}
	return max(over, l.StartedAt+SpotLeastNotices*int64(l.NoticeSecs))
}

// Owed is what seconds of this lease cost, fee included: at least as many as were paid when its price fell.
func (l *Lease) Owed(seconds uint32) (USDC, error) {
	if seconds < l.PaidSecs {
		return 0, fmt.Errorf("%d s are less than the %d s that are paid", seconds, l.PaidSecs)
	}
	if seconds < l.RepricedSecs { // served before the price fell
		part, err := mulDiv(l.RepricedPaid-min(l.RepricedPaid, l.Paid), uint64(seconds-l.PaidSecs), uint64(l.RepricedSecs-l.PaidSecs))
		return USDC(l.Paid + part), err
	}
	rest, err := Cost(PricePerHour(l.Price), l.Gpus, seconds-l.RepricedSecs)
	if err != nil {
		return 0, err
	}
	return USDC(l.RepricedPaid) + rest, nil
}

// Repriced says whether the lease's price fell because its award was unjust: its provider may end it at once.
func (l *Lease) Repriced() bool { return l.Lease.Repriced == 1 }

// FeeTotal is the protocol's share of all that was owed so far.
func (l *Lease) FeeTotal() USDC {
	fee, err := Fee(USDC(l.Paid), l.FeeBps)
	if err != nil {
		return 0 // a share of at most the whole always fits; the program refuses a fee above 15 %
	}
	return fee
}

// ProviderTotal is what the provider has received so far.
func (l *Lease) ProviderTotal() USDC { return USDC(l.Paid) - l.FeeTotal() }

// ClaimedSecs is the larger of what receipts and reports claim.
func (l *Lease) ClaimedSecs() uint32 { return max(l.ReceiptSecs, l.VerifiedSecs) }

// UnsettledSecs are seconds that receipts or reports claim and that are not paid for.
func (l *Lease) UnsettledSecs(now int64) uint32 {
	if !l.Payable() {
		return 0
	}
	claimed := min(l.ClaimedSecs(), l.BillableSecs(now))
	if claimed <= l.PaidSecs {
		return 0
	}
	return claimed - l.PaidSecs
}

// CanAbort says whether lease_abort succeeds at now.
func (l *Lease) CanAbort(o *Order, now int64) error {
	switch {
	case l.State() != LeaseAwarded:
		return bindings.ErrorCodeWrongLeaseStatus
	case l.Continues == 1:
		return abortable(l.AwardedAt, o, now)
	case o.State() == OrderExpired:
		return nil
	case o.AwardedAt == 0:
		return bindings.ErrorCodeWrongOrderStatus
	}
	return abortable(o.AwardedAt, o, now)
}

func abortable(awardedAt int64, o *Order, now int64) error {
	if now <= satAdd(awardedAt, int64(o.StartSecs)) {
		return bindings.ErrorCodeTooEarly
	}
	return nil
}

// UndeliveredSecs were funded and not delivered, at the lease's end: the time after it, and downtime.
func (l *Lease) UndeliveredSecs() uint32 {
	funded := uint32(min(max(satSub(l.FundedUntil, l.StartedAt), 0), math.MaxUint32))
	return funded - min(funded, l.BillableSecs(l.EndedAt))
}

// CanMigrate says whether the lease has failed and its remaining time may move to another node.
func (l *Lease) CanMigrate() bool {
	return l.State() == LeaseFailed && l.MayMigrate == 1 && l.UndeliveredSecs() > 0
}

// ClaimableSince is from when on the lease's last claims may be settled: its end, or when its output was accepted,
// whichever came last.
func (l *Lease) ClaimableSince() int64 { return max(l.EndedAt, l.ResolvedAt) }

// Contestable says whether the lease's award can still be shown to be unjust.
func (l *Lease) Contestable(now int64) bool { return l.Lease.Score != 0 && now <= l.ChallengeUntil }

// CanEndByAnyone says whether lease_end succeeds at now for a stranger: the lease has failed and cannot move to another
// node any more, or its funds are used up, or its node n was convicted while it ran.
func (l *Lease) CanEndByAnyone(n *Node, now int64) error {
	switch {
	case n.ConvictedFrom != 0 && l.State() == LeaseRunning:
		return nil
	case l.CanMigrate() && now <= satAdd(l.EndedAt, int64(l.SettleSecs)):
		return bindings.ErrorCodeTooEarly
	case l.State() == LeaseFailed:
		return nil
	case l.State() != LeaseRunning:
		return bindings.ErrorCodeWrongLeaseStatus
	case now < l.FundedUntil:
		return bindings.ErrorCodeUnauthorised
	}
	return nil
}

// AddressFreeAt is when the period ends in which the lease was last at work. Reports speak of addresses: until then its own is not
// used again.
func (l *Lease) AddressFreeAt(p *Params) int64 {
	secs := int64(max(p.PeriodSecs, 1))
	return satAdd((l.occupied()-1)/secs*secs, secs)
}

// CanClose says whether lease_close succeeds at now for this authority; n is the lease's node.
func (l *Lease) CanClose(authority solana.PublicKey, n *Node, p *Params, now int64) error {
	if l.State() != LeaseEnded {
		return bindings.ErrorCodeWrongLeaseStatus
	}
	if l.PendingFaults > 0 || n.Holds(l, now) {
		return bindings.ErrorCodeFaultPending
	}
	free := l.AddressFreeAt(p)
	if cut := n.CutsAt(l); cut != l.EndedAt { // lease_close does that first
		was := *l
		was.EndedAt, l = cut, &was
	}
	if !l.Payable() && OutputState(l.Output) != OutputRejected {
		return bindings.ErrorCodeWrongOutputState
	}
	deadline := satAdd(max(l.ClaimableSince(), n.UnfrozenAt), int64(l.SettleSecs))
	if l.UnsettledSecs(now) > 0 && now <= satAdd(deadline, int64(l.SettleSecs)) {
		return bindings.ErrorCodeUnsettled
	}
	last, err := PeriodOf(l.EndedAt-1, p.PeriodSecs) // the period of the last second that was served
	if err != nil {
		return err
	}
	if now < free {
		return bindings.ErrorCodeTooEarly
	}
	reported := l.LastReportPeriod >= last && l.ReportWindow == windowFull
	if l.PaidSecs != l.BillableSecs(now) && !reported && now <= deadline {
		return bindings.ErrorCodeUnsettled
	}
	// What paid nothing cannot be rated.
	if l.Rating == 0 && l.Lease.Paid > 0 && authority != l.Customer && l.RatingUntil() > now {
		return bindings.ErrorCodeTooEarly
	}
	// The lease is what shows that its award was unjust; only its customer may do without.
	if l.Contestable(now) && authority != l.Customer {
		return bindings.ErrorCodeTooEarly
	}
	return nil
}

// RatingUntil is the second before which only the customer may close the lease without a rating. A lease that paid little
// holds the rent of its keeper for little time.
func (l *Lease) RatingUntil() int64 {
	return satAdd(l.EndedAt, min(int64(l.RatingSecs), ratingSecsPerPaid*int64(l.PaidSecs)))
}

// CanClose says whether report_close succeeds at now.
func (r *Report) CanClose(p *Params, now int64) error {
	end, err := PeriodEnd(r.Period, p.PeriodSecs)
	if err != nil {
		return err
	}
	if now <= satAdd(max(end, r.FinalisedAt), int64(p.ReportRetentionSecs)) {
		return bindings.ErrorCodeTooEarly
	}
	return nil
}

// CanApply says whether slash_apply succeeds at now.
func (f *Fault) CanApply(now int64) error {
	switch {
	case f.Applied():
		return bindings.ErrorCodeAlreadyApplied
	case now < f.ApplicableAt:
		return bindings.ErrorCodeAppealWindowOpen
	}
	return nil
}

// CanClose says whether slash_close succeeds at now.
func (f *Fault) CanClose(now int64) error {
	switch {
	case !f.Applied():
		return bindings.ErrorCodeAppealWindowOpen
	case now < f.ClaimsUntil && f.PoolLeft > 0:
		return bindings.ErrorCodeTooEarly
	}
	return nil
}

// CanCompensate says whether slash_compensate succeeds for a lease.
func (f *Fault) CanCompensate(l *Lease) error {
	switch {
	case !f.Applied():
		return bindings.ErrorCodeAppealWindowOpen
	case l.Lease.Node != f.Fault.Node || f.HasLease() && f.Fault.Lease != l.Address:
		return bindings.ErrorCodeWrongAccount
	case l.StartedAt == 0:
		return bindings.ErrorCodeWrongLeaseStatus
	case f.HasLease() && f.Compensated == 1, !f.HasLease() && !isNew(uint64(l.LastFault), l.FaultWindow, uint64(f.Serial)):
		return bindings.ErrorCodeAlreadyCounted
	}
	return nil
}

// CanActivate says whether keeper_activate succeeds at now.
func (k *Keeper) CanActivate(p *Params, now int64) error {
	if k.State() != KeeperPending {
		return bindings.ErrorCodeWrongKeeperStatus
	}
	if now < satAdd(k.PendingSince, int64(p.KeeperActivationSecs)) {
		return bindings.ErrorCodeTooEarly
	}
	if k.Bond < p.MinBond {
		return bindings.ErrorCodeBondTooSmall
	}
	return nil
}

// IdleReports is for how many final reports, and the time of how many periods, a keeper keeps its weight without a vote.
const IdleReports = 24

// VoteGrace is for how many seconds after a report's finality votes still count as made in time.
func VoteGrace(periodSecs uint32) int64 { return max(int64(periodSecs/60), 5) }

// MissedReports is how many reports became final since the keeper last voted in time or was activated.
func (k *Keeper) MissedReports(m *Market) uint64 {
	if k.State() != KeeperActive || m.FinalReports < k.VotedReports {
		return 0
	}
	return m.FinalReports - k.VotedReports
}

// CanSuspend says whether keeper_suspend succeeds at now.
func (k *Keeper) CanSuspend(m *Market, now int64) error {
	over := satAdd(k.VotedAt, IdleReports*int64(m.Params.PeriodSecs))
	if k.State() != KeeperActive || k.MissedReports(m) <= IdleReports || now <= over {
		return bindings.ErrorCodeKeeperNotIdle
	}
	return nil
}

// CanVote says whether report_vote accepts this keeper for the period at now, leaving earlier votes aside.
func (k *Keeper) CanVote(p *Params, period uint64, now int64) error {
	end, err := PeriodEnd(period, p.PeriodSecs)
	switch {
	case err != nil:
		return err
	case now < end:
		return bindings.ErrorCodePeriodNotEnded
	case now > satAdd(end, int64(p.ReportRetentionSecs)):
		return bindings.ErrorCodeTooLate
	case k.State() != KeeperActive || k.ActiveSince >= end:
		return bindings.ErrorCodeKeeperNotActive
	}
	return nil
}

// NodeFlags say that the machine is not what it claims.
const NodeFlags = records.FlagSlow | records.FlagSpecMismatch | records.FlagWorkFailed | records.FlagEvidenceFailed | records.FlagDeviceChanged

// LeafNews says what applying a leaf brings: whether it is new for its node, new for its lease, and the flags that open
// a fault. Nothing new means AlreadyApplied. Flags of the machine mean fault_open for the node, and after it what the leaf
// says of its lease; other flags mean fault_open for the lease; none means report_apply.
func LeafNews(leaf *records.Leaf, n *Node, l *Lease, p *Params) (nodeNew, leaseNew bool, flags records.Flags) {
	if nodeNew = isNew(n.LastReportPeriod, n.ReportWindow, uint64(leaf.Period)); nodeNew {
		flags |= leaf.Flags & NodeFlags
		if n.makesSlow(leaf, p) {
			flags |= records.FlagSlow
		}
	}
	if l != nil && !leaf.Lease.IsZero() {
		if leaseNew = isNew(l.LastReportPeriod, l.ReportWindow, uint64(leaf.Period)); leaseNew {
			flags |= leaf.Flags & records.FlagBadOutput
			if leaf.DowntimeSeconds > l.GraceSecs {
				flags |= leaf.Flags & records.FlagOffline
			}
		}
	}
	return nodeNew, leaseNew, flags
}

// windowFull is a window without a gap: every period up to the last was applied.
const windowFull = ^uint32(0)

// isNew says whether a period's leaf is still to be applied: the last period that was, and a bit for each of the 32
// that end with it. Twin of program/src/math/window.rs.
func isNew(last uint64, window uint32, period uint64) bool {
	if period > last {
		return true
	}
	behind := last - period
	return behind < 32 && window>>behind&1 == 0
}
