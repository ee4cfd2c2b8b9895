package service

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Keeper is a keeper.
type Keeper struct {
	Wallet string `json:"wallet"`
	// Signer is the key that signs for it. FormerSigner did before, and the bond answers for it until SignerUntil.
	Signer       string `json:"signer"`
	FormerSigner string `json:"formerSigner,omitempty"`
	SignerUntil  int64  `json:"signerUntil,omitempty"`
	Account      string `json:"account"`
	// Index is its place among the voters; absent while it is not active and has none.
	Index  *uint16 `json:"index,omitempty"`
	Status string  `json:"status"`
	Bond   string  `json:"bond"`
	Weight string  `json:"weight"`
	Votes  uint64  `json:"votes"`
	Misses uint64  `json:"misses"`
	// Missed is how many reports became final since it last voted in time; it loses its weight when they are too many.
	Missed     uint64 `json:"missedReports"`
	LastVote   uint64 `json:"lastVotePeriod"`
	Addr       string `json:"addr"`
	Registered int64  `json:"registeredAt"`
	Active     int64  `json:"activeSince,omitempty"`
	ExitAt     int64  `json:"exitAt,omitempty"`
	// PaidOut is what slashes of the bond have paid to finders, and PaidOutAt when they last did.
	PaidOut   string `json:"paidOut,omitempty"`
	PaidOutAt int64  `json:"paidOutAt,omitempty"`
}

// DescribeKeeper describes a keeper.
func DescribeKeeper(m *market.Market, k *market.Keeper) Keeper {
	out := Keeper{
		Wallet: k.Wallet.String(), Signer: k.SigningKey().String(), Account: k.Address.String(), Index: k.Place(), Status: k.State().String(), Bond: market.GNT(k.Bond).String(),
		Weight: market.GNT(k.Weight).String(), Votes: k.Votes, Misses: k.Misses, Missed: k.MissedReports(m), LastVote: k.LastVotePeriod, Addr: k.Addr(),
		Registered: k.RegisteredAt, Active: k.ActiveSince, ExitAt: k.ExitAt,
	}
	if k.SignerUntil != 0 {
		out.FormerSigner, out.SignerUntil = k.FormerSigner.String(), k.SignerUntil
	}
	if k.PaidOutAt != 0 {
		out.PaidOut, out.PaidOutAt = market.GNT(k.PaidOut).String(), k.PaidOutAt
	}
	return out
}

// Report is a report of a period.
type Report struct {
	Period      uint64      `json:"period"`
	Address     string      `json:"address"`
	Status      string      `json:"status"`
	Root        string      `json:"root,omitempty"`
	Proposer    string      `json:"proposer,omitempty"`
	FinalisedAt int64       `json:"finalisedAt,omitempty"`
	TotalWeight string      `json:"totalWeight"`
	Candidates  []Candidate `json:"candidates"`
}

// Candidate is a root that keepers have voted for.
type Candidate struct {
	Root   string   `json:"root"`
	Weight string   `json:"weight"`
	Voters []string `json:"voters"` // wallets, or indices of keepers that have left
}

// DescribeReport describes a report.
func DescribeReport(v *view.View, r *market.Report) Report {
	out := Report{Period: r.Period, Address: r.Address.String(), Status: r.State().String(), TotalWeight: market.GNT(r.TotalWeight).String(), Candidates: []Candidate{}}
	if r.State() == market.ReportFinal {
		out.Root, out.Proposer, out.FinalisedAt = hex.EncodeToString(r.Root[:]), r.Proposer.String(), r.FinalisedAt
	}
	for _, c := range r.Roots() {
		out.Candidates = append(out.Candidates, Candidate{
			Root: hex.EncodeToString(c.Root[:]), Weight: market.GNT(c.Weight).String(), Voters: Voters(c.Voters, r.CreatedAt, v.Keepers()),
		})
	}
	return out
}

// Fault is a fault of a node.
type Fault struct {
	Address      string   `json:"address"`
	Node         string   `json:"node"`
	Provider     string   `json:"provider"`
	Lease        string   `json:"lease,omitempty"`
	Finder       string   `json:"finder,omitempty"`
	Cause        string   `json:"cause"`
	State        string   `json:"state"`
	Period       uint64   `json:"period"`
	Flags        []string `json:"flags"`
	Amount       string   `json:"amount"`
	Pool         string   `json:"pool"`
	PoolLeft     string   `json:"poolLeft"`
	WindowFrom   int64    `json:"windowFrom"`
	WindowUntil  int64    `json:"windowUntil"`
	OpenedAt     int64    `json:"openedAt"`
	ApplicableAt int64    `json:"applicableAt"`
	ClaimsUntil  int64    `json:"claimsUntil,omitempty"`
	AppealWeight string   `json:"appealWeight"`
	TotalWeight  string   `json:"totalWeight"`
}

// DescribeFault describes a fault.
func DescribeFault(f *market.Fault) Fault {
	out := Fault{
		Address: f.Address.String(), Node: f.Node.String(), Provider: f.Provider.String(), Period: f.Period, Cause: f.Cause(), State: "pending",
		Flags: records.Flags(f.Flags).Names(), Amount: market.GNT(f.Amount).String(), Pool: market.GNT(f.Pool).String(),
		PoolLeft: market.GNT(f.PoolLeft).String(), WindowFrom: f.WindowFrom, WindowUntil: f.WindowUntil, OpenedAt: f.OpenedAt,
		ApplicableAt: f.ApplicableAt, ClaimsUntil: f.ClaimsUntil, Finder: addressOf(f.Finder), AppealWeight: market.GNT(f.AppealWeight).String(), TotalWeight: market.GNT(f.TotalWeight).String(),
	}
	if f.HasLease() {
		out.Lease = f.Lease.String()
	}
	if f.Applied() {
		out.State = "applied"
	}
	return out
}

// Voters names the keepers of a bitmap by wallet, or by place where the keeper that voted does not have it any more. A keeper could vote
// if it was active before a time.
func Voters(bits [32]uint8, before int64, keepers []market.Keeper) []string {
	out := []string{}
	for i := range uint16(market.MaxKeepers) {
		if !market.Has(bits, i) {
			continue
		}
		who := fmt.Sprint(i)
		for _, k := range keepers {
			if k.Index == i && k.ActiveSince < before {
				who = k.Wallet.String()
			}
		}
		out = append(out, who)
	}
	return out
}

// reportsShown is how many reports are described, the newest.
const reportsShown = 12

// Keepers are the market's keepers, what they have voted on, and whom it has cost stake.
type Keepers struct {
	Keepers []Keeper `json:"keepers"`
	Reports []Report `json:"reports" doc:"The newest first; older ones are closed"`
	Faults  []Fault  `json:"faults" doc:"That are open: not applied yet, or with compensation to be claimed"`
}

// Keepers describes the keepers.
func (s *Service) Keepers(ctx context.Context) (Keepers, error) {
	mk, err := s.Load(ctx)
	if err != nil {
		return Keepers{}, err
	}
	v, err := s.Snapshot(ctx, view.Only(view.Kinds(market.KindKeeper, market.KindReport, market.KindFault)))
	if err != nil {
		return Keepers{}, err
	}
	out := Keepers{Keepers: []Keeper{}, Reports: []Report{}, Faults: []Fault{}}
	for _, k := range v.Keepers() {
		out.Keepers = append(out.Keepers, DescribeKeeper(&mk, &k))
	}
	reports := v.Reports()
	slices.SortFunc(reports, func(a, b market.Report) int { return cmp.Compare(b.Period, a.Period) })
	for _, r := range reports[:min(len(reports), reportsShown)] {
		out.Reports = append(out.Reports, DescribeReport(v, &r))
	}
	for _, f := range v.Faults() {
		out.Faults = append(out.Faults, DescribeFault(&f))
	}
	return out, nil
}
