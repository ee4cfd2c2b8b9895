package market

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

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

// Rewards returns the account that says whom swept fees belong to; false while there is none.
func (v *View) Rewards() (Rewards, bool) { return get[Rewards](v, RewardsAddress()) }

// DisputeOf returns the open dispute of a lease.
func (v *View) DisputeOf(lease solana.PublicKey) (Dispute, bool) {
	return get[Dispute](v, DisputeAddress(lease))
}

// Disputes returns all open disputes, those that close first before the others.
func (v *View) Disputes() []Dispute {
	all := list[Dispute](v, KindDispute)
	slices.SortStableFunc(all, func(a, b Dispute) int {
		switch {
		case a.ClosesAt < b.ClosesAt:
			return -1
		case a.ClosesAt > b.ClosesAt:
			return 1
		}
		return 0
	})
	return all
}
