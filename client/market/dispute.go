package market

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/gantry-market/gantry/idl/bindings"
)

// DisputeKind is what the customer complains about.
type DisputeKind uint8

// Kinds of disputes, as in program/src/state/dispute.rs.
const (
	// DisputeNotDelivered: the job did not run as it was ordered.
	DisputeNotDelivered DisputeKind = 1
	// DisputeBadOutput: it ran, and its output is wrong.
	DisputeBadOutput DisputeKind = 2
)

// Verdict is the result of the votes on a dispute so far.
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

var (
	disputeKindNames = [...]string{DisputeNotDelivered: "not-delivered", DisputeBadOutput: "bad-output"}
	verdictNames     = [...]string{VerdictNone: "no quorum yet", VerdictUpheld: "upheld", VerdictRejected: "rejected"}
	outputNames      = [...]string{
		OutputNone: "none", OutputWanted: "awaited", OutputCommitted: "committed", OutputRevealed: "shown", OutputAccepted: "accepted",
		OutputRejected: "rejected",
	}
)

func (k DisputeKind) String() string { return name(disputeKindNames[:], "kind", uint8(k)) }
func (v Verdict) String() string     { return name(verdictNames[:], "verdict", uint8(v)) }
func (s OutputState) String() string { return name(outputNames[:], "output state", uint8(s)) }

// ParseDisputeKind reads a kind by its name, in any case.
func ParseDisputeKind(text string) (DisputeKind, error) {
	for i, known := range disputeKindNames {
		if known != "" && strings.EqualFold(strings.TrimSpace(text), known) {
			return DisputeKind(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a kind of dispute", text)
}

// CanOpenDispute says whether dispute_open accepts this lease, leaving the deposit aside.
func (l *Lease) CanOpenDispute() error {
	switch {
	case l.State() < LeaseRunning:
		return CodeWrongLeaseStatus
	case l.Disputed == 1:
		return bindings.ErrorCodeAlreadyDisputed
	}
	return nil
}

// CanVote says whether dispute_vote accepts this keeper at now.
func (d *Dispute) CanVote(k *Keeper, now int64) error {
	switch {
	case k.State() != KeeperActive || k.ActiveSince >= d.OpenedAt:
		return CodeKeeperNotActive
	case now >= d.ClosesAt:
		return CodeTooLate
	case Has(d.UpheldVoters, k.Index) || Has(d.RejectedVoters, k.Index):
		return CodeAlreadyVoted
	}
	return nil
}
