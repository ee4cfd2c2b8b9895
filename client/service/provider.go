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
)

// ErrNoProvider: the wallet has no provider account.
var ErrNoProvider = errors.New("no such provider")

// ProviderAccount is a provider's account: its stake, GNT.
type ProviderAccount struct {
	Wallet     string `json:"wallet"`
	Account    string `json:"account"`
	Payout     string `json:"payout,omitempty" doc:"Token account that earnings go to"`
	Stake      string `json:"stake"`
	Locked     string `json:"lockedStake" doc:"That nodes need"`
	Unstaking  string `json:"unstaking" doc:"On its way back to the wallet"`
	UnstakeAt  int64  `json:"unstakeAt,omitempty"`
	Slashed    string `json:"slashedTotal"`
	Nodes      uint32 `json:"nodes"`
	Leases     uint32 `json:"liveLeases"`
	Faults     uint32 `json:"pendingFaults"`
	Registered int64  `json:"registeredAt,omitempty"`
}

// DescribeProvider describes the account of a wallet; exists is false where there is none.
func DescribeProvider(wallet solana.PublicKey, p *market.Provider, exists bool) ProviderAccount {
	out := ProviderAccount{
		Wallet: wallet.String(), Account: market.ProviderAddress(wallet).String(), Stake: market.GNT(p.Stake).String(),
		Locked: market.GNT(p.LockedStake).String(), Unstaking: market.GNT(p.Unstaking).String(), UnstakeAt: p.UnstakeAt,
		Slashed: market.GNT(p.SlashedTotal).String(), Nodes: p.NodeCount, Leases: p.LiveLeases, Faults: p.PendingFaults, Registered: p.RegisteredAt,
	}
	if exists {
		out.Payout = p.Payout.String()
	}
	return out
}

// Provider is an owner of machines: what they are, what keepers have found, and what they earn.
type Provider struct {
	ProviderAccount
	At       int64     `json:"at" doc:"By the cluster's clock, unix seconds"`
	FeeBPS   uint16    `json:"feeBps" doc:"The market's fee, basis points of what customers pay"`
	Earned   Earned    `json:"earned" doc:"Of leases that are not closed"`
	Machines []Machine `json:"machines" doc:"Those with something to do first, then by address"`
}

// Earned is what leases have brought to a provider, USDC, the market's fee taken off.
type Earned struct {
	Settled   string `json:"settled" doc:"Is in the payout account"`
	Claimed   string `json:"claimed" doc:"Receipts or reports claim it; it is paid with the next settlement"`
	Unclaimed string `json:"unclaimed" doc:"At most: served by the clock, and claimed by no receipt and no report yet"`
}

// earned adds up amounts.
type earned struct{ settled, claimed, unclaimed market.USDC }

func (e *earned) add(o earned) {
	e.settled, e.claimed, e.unclaimed = e.settled+o.settled, e.claimed+o.claimed, e.unclaimed+o.unclaimed
}

func (e earned) text() Earned {
	return Earned{Settled: e.settled.Exact(), Claimed: e.claimed.Exact(), Unclaimed: e.unclaimed.Exact()}
}

// earnedOf is what a lease has brought to its provider at an instant.
func earnedOf(l *market.Lease, now int64) earned {
	e := earned{settled: l.ProviderTotal()}
	claimed := partOf(l, l.PaidSecs+l.UnsettledSecs(now))
	e.claimed = claimed - min(claimed, e.settled)
	if l.Payable() {
		all := partOf(l, l.BillableSecs(now))
		e.unclaimed = all - min(all, max(claimed, e.settled))
	}
	return e
}

// partOf is the provider's part of what so many seconds of a lease cost.
func partOf(l *market.Lease, seconds uint32) market.USDC {
	owed, err := l.Owed(max(seconds, l.PaidSecs))
	if err != nil {
		return 0 // what does not fit cannot be owed
	}
	fee, err := market.Fee(owed, l.FeeBps)
	if err != nil {
		return 0
	}
	return owed - fee
}

// Provider describes the machines of a wallet, anybody's. Errors: ErrNoProvider, and those of the cluster.
func (s *Service) Provider(ctx context.Context, wallet solana.PublicKey) (Provider, error) {
	account := market.ProviderAddress(wallet)
	v, now, err := s.SnapshotNow(ctx, view.With([]chain.Filter{query.NodesOf(account), query.LeasesServedBy(account), query.FaultsOf(account)}, account))
	if err != nil {
		return Provider{}, err
	}
	p, ok := v.ProviderOf(wallet)
	if !ok {
		return Provider{}, &Failure{
			Code: CodeUsage, Reason: fmt.Sprintf("the wallet %s is not a provider", wallet),
			Advice: "give the wallet that owns the machines; gantry provider register makes it one", Cause: ErrNoProvider,
		}
	}
	params, _ := v.Params()
	out := Provider{ProviderAccount: DescribeProvider(wallet, &p, true), At: now, FeeBPS: params.FeeBps, Machines: []Machine{}}
	var sum earned
	for _, n := range v.NodesOf(account) {
		m, e := machineOf(v, &n, &p, now)
		sum.add(e)
		out.Machines = append(out.Machines, m)
	}
	out.Earned = sum.text()
	slices.SortStableFunc(out.Machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(min(len(b.ToDo), 1), min(len(a.ToDo), 1)), cmp.Compare(a.Address, b.Address))
	})
	return out, nil
}
