package market

import (
	"fmt"
	"math"
	"math/big"
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

// Kinds of faults, as in program/src/state/fault.rs.
const (
	FaultReport    uint8 = 1
	FaultDispute   uint8 = 2
	FaultGuarantee uint8 = 3
	FaultWork      uint8 = 4
	FaultOutage    uint8 = 5
)

// Cause says in a word what the fault follows from.
func (f *Fault) Cause() string {
	switch f.Kind {
	case FaultReport:
		return "report"
	case FaultDispute:
		return "dispute"
	case FaultGuarantee:
		return "guarantee"
	case FaultWork:
		return "bad work"
	case FaultOutage:
		return "outage"
	}
	return "unknown"
}

// CanAppeal says whether a statement of this keeper may speak against the fault at now.
func (f *Fault) CanAppeal(k *Keeper, now int64) error {
	switch {
	case now >= f.ApplicableAt:
		return bindings.ErrorCodeAppealWindowClosed
	case k.State() != KeeperActive || k.ActiveSince >= f.VotersBefore:
		return CodeKeeperNotActive
	case Has(f.Appellants, k.Index):
		return bindings.ErrorCodeAlreadyCounted
	}
	return nil
}

// Verdict is the result of the votes on a dispute so far.
type Verdict uint8

// The verdicts.
const (
	// VerdictNone: neither side has the quorum.
	VerdictNone Verdict = iota
	VerdictUpheld
	VerdictRejected
)

// Verdict counts the votes as the program does, by the quorum that held when the dispute was opened.
func (d *Dispute) Verdict() Verdict {
	switch {
	case HasQuorum(d.UpheldWeight, d.TotalWeight, d.QuorumBps):
		return VerdictUpheld
	case HasQuorum(d.RejectedWeight, d.TotalWeight, d.QuorumBps):
		return VerdictRejected
	}
	return VerdictNone
}

// HasQuorum says whether a weight is the quorum of the total.
func HasQuorum(weight, total uint64, bps uint16) bool {
	high, low := bits.Mul64(weight, 10_000)
	needHigh, needLow := bits.Mul64(total, uint64(bps))
	return weight > 0 && (high > needHigh || high == needHigh && low >= needLow)
}

var (
	disputeKindNames = [...]string{DisputeNotDelivered: "not-delivered", DisputeBadOutput: "bad-output"}
	verdictNames     = [...]string{VerdictNone: "no quorum yet", VerdictUpheld: "upheld", VerdictRejected: "rejected"}
	outputNames      = [...]string{
		OutputNone: "none", OutputWanted: "awaited", OutputCommitted: "committed", OutputRevealed: "shown", OutputAccepted: "accepted",
		OutputRejected: "rejected", OutputWithheld: "withheld",
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

// Constants of deposits, as in program/src/constants.rs.
const (
	depositBPS  = 1_000
	capitalBPS  = 2_000
	secsPerYear = 365 * 86_400
)

// DisputeDeposit is what a dispute sets aside: a tenth of what was settled, at most limit, and at least four times what
// the frozen stake costs its owner in the time of the vote. It is the twin of math::dispute::deposit.
func DisputeDeposit(settled, limit USDC, frozen GNT, stakePrice uint64, secs uint32) (USDC, error) {
	tenth, err := Fee(settled, depositBPS)
	if err != nil {
		return 0, err
	}
	n := new(big.Int).Mul(new(big.Int).SetUint64(uint64(frozen)), new(big.Int).SetUint64(stakePrice))
	n = ceilDiv(n, uint64(OneGNT))
	n.Mul(n, new(big.Int).SetUint64(4*capitalBPS*uint64(secs)))
	n = ceilDiv(n, BPS*secsPerYear)
	if !n.IsUint64() {
		return 0, ErrOverflow
	}
	return max(min(tenth, limit), USDC(n.Uint64())), nil
}

func ceilDiv(n *big.Int, d uint64) *big.Int {
	by := new(big.Int).SetUint64(d)
	n.Add(n, new(big.Int).SetUint64(d-1))
	return n.Div(n, by)
}

// DisputeSlash is the stake that bad output of the lease may cost its node. It is the twin of
// math::dispute::possible_slash.
func DisputeSlash(l *Lease, n *Node, p *Params) (GNT, error) {
	whole, err := Share(n.RequiredStake, l.SlashBadWorkBps)
	if err != nil {
		return 0, err
	}
	part, err := mulDiv(whole, uint64(l.Gpus), uint64(n.Spec.Gpus))
	if err != nil {
		return 0, err
	}
	harm, err := HarmInStake(USDC(l.Paid), p.StakePrice)
	if err != nil {
		return 0, err
	}
	least := uint64(math.MaxUint64)
	if uint64(harm) <= math.MaxUint64/5 {
		least = uint64(harm) * 5
	}
	return GNT(min(max(part, least/2), n.RequiredStake)), nil
}

// DepositLost is what a deposit loses to the provider and to the buy-back by this verdict: half and half when keepers
// rejected the dispute, a quarter for the provider when they did not decide, nothing when they upheld it.
func DepositLost(deposit USDC, v Verdict) (provider, buyBack USDC) {
	switch v {
	case VerdictRejected:
		return deposit / 2, deposit - deposit/2
	case VerdictNone:
		return deposit / 4, 0
	}
	return 0, 0
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
