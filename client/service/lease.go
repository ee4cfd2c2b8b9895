package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// Lease is a lease: its state, its times, unix seconds, and its money, USDC.
type Lease struct {
	Address     string `json:"address"`
	Name        string `json:"name,omitempty"` // that people have given it; what runs on it, in what a server answers of a lease without one
	Order       string `json:"order"`
	Node        string `json:"node"`
	Customer    string `json:"customer"`
	Status      string `json:"status"`
	EndReason   string `json:"endReason,omitempty"`
	GPUs        uint8  `json:"gpus"`
	Model       string `json:"model,omitempty"`
	Simulated   bool   `json:"simulated,omitempty"` // its GPUs
	Price       string `json:"pricePerGpuHour"`
	AwardPrice  string `json:"awardPricePerGpuHour,omitempty"` // where the award was shown to be unjust and the price fell
	Spot        bool   `json:"spot,omitempty"`                 // its machine may end it after a short notice
	LeavesAt    int64  `json:"leavesAt,omitempty"`             // its machine has given notice, and may end it from then on
	AwardedAt   int64  `json:"awardedAt"`
	StartedAt   int64  `json:"startedAt,omitempty"`
	FundedUntil int64  `json:"fundedUntil,omitempty"`
	EndedAt     int64  `json:"endedAt,omitempty"`
	Reserved    string `json:"reserved"`
	Paid        string `json:"paid"`
	Fee         string `json:"feeIncluded"`
	PaidSecs    uint32 `json:"paidSeconds"`
	Receipt     uint32 `json:"receiptSeconds"`
	Verified    uint32 `json:"verifiedSeconds"`
	Downtime    uint32 `json:"downtimeSeconds"`
	Used        uint32 `json:"usedSeconds"` // that can be owed at most, now
	Cost        string `json:"costAtMost"`  // of the used seconds, fee included
	Rating      uint8  `json:"rating,omitempty"`
	Faults      uint8  `json:"pendingFaults,omitempty"`
	Output      string `json:"output,omitempty"`   // of a redundant job: awaited, committed, shown, accepted, rejected
	ExitCode    *int32 `json:"exitCode,omitempty"` // of the job, as the machine says
	Detail      string `json:"detail,omitempty"`
	Snapshot    string `json:"snapshot,omitempty"` // the last that is on chain
	Tx          *Sent  `json:"transaction,omitempty"`
	// Inspection is there where its customer has asked for one, in what a server answers that measures.
	Inspection *Inspection `json:"inspection,omitempty"`
	// Attestation is there where its customer has asked for one, in what a server answers that has bought the lease.
	Attestation *Attestation `json:"attestation,omitempty"`
}

// DescribeLease describes a lease at an instant, unix seconds.
func DescribeLease(v *view.View, l *market.Lease, now int64) Lease {
	out := Lease{
		Address: l.Address.String(), Order: l.Order.String(), Node: l.Node.String(), Customer: l.Customer.String(),
		Status: l.State().String(), GPUs: l.Gpus, Price: market.PricePerHour(l.Price).String(), AwardedAt: l.AwardedAt,
		StartedAt: l.StartedAt, FundedUntil: l.FundedUntil, EndedAt: l.EndedAt, Reserved: market.USDC(l.Lease.Reserved).Exact(),
		Paid: market.USDC(l.Paid).Exact(), Fee: l.FeeTotal().Exact(), PaidSecs: l.PaidSecs, Receipt: l.ReceiptSecs,
		Verified: l.VerifiedSecs, Downtime: l.DowntimeSecs, Used: l.BillableSecs(now), Rating: l.Rating, Faults: l.PendingFaults,
	}
	// Seconds before the price fell are paid.
	if owed, err := l.Owed(max(l.PaidSecs, out.Used)); err == nil {
		out.Cost = owed.Exact()
	}
	if l.Repriced() {
		out.AwardPrice = market.PricePerHour(l.AwardPrice).String()
	}
	if l.EndReason != 0 {
		out.EndReason = l.Reason().String()
	}
	out.Spot = l.Interruptible != 0
	if l.NoticeAt != 0 && l.EndedAt == 0 {
		out.LeavesAt = l.NoticeOver()
	}
	if l.CheckpointHash != [32]byte{} {
		out.Snapshot = snapshot.Hash(l.CheckpointHash).String()
	}
	if state := market.OutputState(l.Output); state != market.OutputNone {
		out.Output = state.String()
	}
	v.Read(func(a *view.Accounts) {
		n := a.Nodes[l.Node]
		if n == nil {
			return
		}
		if m := a.Models[n.Spec.Model]; m != nil {
			out.Model = m.ModelName()
		}
		out.Simulated = n.Spec.Simulated == 1
	})
	return out
}

// Billed says in a sentence what of the lease is paid: for people, the same wherever a lease is shown to be over.
func (l Lease) Billed() string {
	paid := fmt.Sprintf("%d s of the lease are paid so far, %s USDC", l.PaidSecs, l.Paid)
	switch l.EndReason {
	case market.EndedFailed.String():
		return "the machine failed: " + paid + "; what is not used comes back when the lease is closed"
	case "":
		return paid
	}
	return paid + "; receipts and reports may still add seconds in which the machine served it"
}

// DescribeLeases describes leases, the newest first.
func DescribeLeases(v *view.View, all []market.Lease, now int64) []Lease {
	slices.SortStableFunc(all, func(a, b market.Lease) int { return cmp.Compare(b.AwardedAt, a.AwardedAt) })
	out := make([]Lease, len(all))
	for i := range all {
		out[i] = DescribeLease(v, &all[i], now)
	}
	return out
}

// Leases are the leases of a customer that are not closed, the newest first.
func (s *Service) Leases(ctx context.Context, customer solana.PublicKey) ([]Lease, error) {
	if v := s.live.Load().of(customer); v != nil {
		if all := v.LeasesOfCustomer(customer); withNodes(v, all...) {
			now, err := s.now(ctx)
			return DescribeLeases(v, all, now), err
		}
	}
	v, now, err := s.SnapshotNow(ctx, view.With([]chain.Filter{query.LeasesOf(customer)}))
	if err != nil {
		return nil, err
	}
	return DescribeLeases(v, v.LeasesOfCustomer(customer), now), nil
}

// withNodes reports whether a view has the nodes of leases, which it learns of a moment later.
func withNodes(v *view.View, leases ...market.Lease) bool {
	ok := true
	v.Read(func(a *view.Accounts) {
		for i := range leases {
			n := a.Nodes[leases[i].Node]
			ok = ok && n != nil && a.Models[n.Spec.Model] != nil
		}
	})
	return ok
}

// Lease is one lease of a customer. Errors: ErrNoLease when it has none at this address.
func (s *Service) Lease(ctx context.Context, customer, address solana.PublicKey) (Lease, error) {
	if v := s.live.Load().of(customer); v != nil {
		if l, ok := v.Lease(address); ok && l.Customer == customer && withNodes(v, l) {
			now, err := s.now(ctx)
			return DescribeLease(v, &l, now), err
		}
	} // one that is not there may be on its way
	v, now, err := s.SnapshotNow(ctx, view.With(nil, address))
	if err != nil {
		return Lease{}, err
	}
	l, ok := v.Lease(address)
	if !ok || l.Customer != customer {
		return Lease{}, noLease(address)
	}
	return DescribeLease(v, &l, now), nil
}

// ErrNoLease: the customer has no such lease.
var ErrNoLease = errors.New("no such lease")

func noLease(address solana.PublicKey) error {
	return &Failure{
		Code: CodeUsage, Reason: fmt.Sprintf("the customer has no lease %s, or it is closed", address),
		Advice: "the history of a closed one is in: gantry audit " + address.String(), Cause: ErrNoLease,
	}
}
