package crank

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Sets finds the leaf set of a period with a root; nil when it is not held.
type Sets func(period records.Period, root records.Hash) *report.Set

// Margin is subtracted from our clock before it is compared with a deadline that the chain's clock must have passed.
const Margin = 1

// Due lists everything that can be done now (unix seconds on our clock) by the keeper with this wallet, in the order in
// which it should be tried. Actions on one account depend on each other only across calls: what an action changes is
// seen when Due is called again.
func Due(v *view.Accounts, m *match.Matcher, self solana.PublicKey, now int64, sets Sets) ([]Action, error) {
	params, ok := v.Params()
	if !ok {
		return nil, nil
	}
	now -= Margin
	d := due{v: v, matcher: m, self: self, now: now, params: &params}
	d.keepers()
	d.orders()
	d.auctions()
	d.leaves(sets)
	d.evidence()
	d.leases()
	d.faults()
	d.guarantees()
	d.payouts()
	d.disputes()
	d.outputs()
	d.rewards()
	d.reports()
	d.outages()
	sortActions(d.out)
	return d.out, d.err
}

// sortActions puts them in the order in which they are tried.
func sortActions(actions []Action) {
	slices.SortStableFunc(actions, func(a, b Action) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)), cmp.Compare(a.Since, b.Since))
	})
}

type due struct {
	v       *view.Accounts
	matcher *match.Matcher
	self    solana.PublicKey
	now     int64
	params  *market.Params
	out     []Action
	err     error
}

// signer is the key that signs what this keeper sends, and pays for it.
func (d *due) signer() solana.PublicKey { return d.v.SignerOf(d.self) }

// add appends an action; one that cannot be built is an error of ours, reported and left out.
func (d *due) add(a Action, instruction solana.Instruction, err error) {
	if err != nil {
		d.err = fmt.Errorf("%s %s: %w", a.Kind, a.Key, err)
		return
	}
	a.Instructions = append(a.Instructions, instruction)
	a.Key = string(a.Kind) + "/" + a.Key
	if a.Group == "" {
		a.Group = a.Key
	}
	d.out = append(d.out, a)
}

// inOrder iterates over a map by key, so that everything has one order.
func inOrder[T any](m map[solana.PublicKey]T, f func(solana.PublicKey, T)) {
	keys := make([]solana.PublicKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	for _, k := range keys {
		f(k, m[k])
	}
}

func (d *due) keepers() {
	inOrder(d.v.Keepers, func(wallet solana.PublicKey, k *market.Keeper) {
		// No other keeper can: one that was suspended comes back as soon as it runs again.
		if wallet == d.self && k.CanActivate(d.params, d.now) == nil {
			instruction, err := ix.KeeperActivateBy(wallet, d.signer())
			d.add(Action{Kind: KeeperActivate, Key: fmt.Sprintf("%s/%d", wallet, k.PendingSince), Mine: true}, instruction, err)
		}
		if wallet != d.self && k.CanSuspend(d.v.Market, d.now) == nil {
			instruction, err := ix.KeeperSuspend(wallet)
			d.add(Action{Kind: KeeperSuspend, Key: fmt.Sprintf("%s/%d", wallet, k.VotedAt)}, instruction, err)
		}
	})
}

func (d *due) orders() {
	inOrder(d.v.Orders, func(key solana.PublicKey, o *market.Order) {
		if o.CanExpire(d.now) == nil {
			instruction, err := ix.OrderExpire(*o)
			d.add(Action{Kind: OrderExpire, Key: fmt.Sprintf("%s/%d", key, o.AwardDeadline), Since: o.OpenUntil()}, instruction, err)
		}
	})
}

func (d *due) auctions() {
	inOrder(d.v.Auctions, func(order solana.PublicKey, a *market.Auction) {
		if _, exists := d.v.Orders[order]; a.CanClose(exists, d.now) == nil {
			instruction, err := ix.AuctionClose(*a)
			d.add(Action{Kind: AuctionClose, Key: fmt.Sprintf("%s/%d", order, a.CloseAt), Since: max(a.RevealUntil, a.ChallengeUntil)}, instruction, err)
		}
	})
}

// node is the one at an address; one that is not known yet has no faults.
func (d *due) node(address solana.PublicKey) *market.Node {
	if n := d.v.Nodes[address]; n != nil {
		return n
	}
	return &market.Node{}
}

// rentPayer is who gets an order's rent back.
func (d *due) rentPayer(l *market.Lease) solana.PublicKey {
	if o, ok := d.v.Orders[l.Order]; ok {
		return o.RentPayer
	}
	return solana.PublicKey{}
}

func (d *due) leases() {
	inOrder(d.v.Leases, func(key solana.PublicKey, l *market.Lease) {
		o, hasOrder := d.v.Orders[l.Order]
		// The address may be used again after an abort: the award's time tells the lives apart.
		id := fmt.Sprintf("%s/%d", key, l.AwardedAt)
		if hasOrder && l.CanAbort(o, d.now) == nil {
			instruction, err := ix.LeaseAbort(ix.LeaseAbortArgs{Lease: *l, OrderRentPayer: o.RentPayer})
			d.add(Action{Kind: LeaseAbort, Key: id}, instruction, err)
			return
		}
		if d.migrate(id, l) {
			return
		}
		n := d.node(l.Node)
		since, stopped := l.FundedUntil, n.StoppedBilling(l, d.now)
		if stopped {
			since = n.BillingUntil
		}
		if stopped || l.CanEndByAnyone(n, d.now) == nil {
			instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: d.signer(), Lease: *l})
			d.add(Action{Kind: LeaseEnd, Key: id, Since: since}, instruction, err)
			return
		}
		// What could not be settled in its time does not keep the lease: both are tried, in this order.
		d.settle(id, l, n)
		if hasOrder && l.CanClose(d.signer(), n, d.params, d.now) == nil {
			instruction, err := ix.LeaseClose(ix.LeaseCloseArgs{
				Authority: d.signer(), Lease: *l, OrderRentPayer: d.rentPayer(l), KeeperGone: d.v.Keepers[l.Lease.Keeper] == nil,
				Emission: d.params.EmissionBps > 0,
			})
			d.add(Action{Kind: LeaseClose, Key: id, Since: l.EndedAt}, instruction, err)
		}
	})
}

// settle pays for seconds beyond those paid for: verified ones, and those of receipts that an output had to wait for.
func (d *due) settle(id string, l *market.Lease, n *market.Node) {
	if l.State() < market.LeaseRunning || l.Frozen > 0 || l.UnsettledSecs(n.PayableUntil(d.now)) == 0 {
		return
	}
	p, ok := d.v.Providers[l.Provider]
	if !ok {
		return
	}
	instruction, err := ix.LeaseSettleReport(ix.LeaseSettleReportArgs{Lease: *l, Payout: p.Payout})
	key := fmt.Sprintf("%s/%d/%d", id, l.PaidSecs, l.ClaimedSecs())
	d.add(Action{Kind: LeaseSettleReport, Key: key}, instruction, err)
}

// faults applies those whose appeal window has passed, has them compensate every lease that they harmed, and closes them.
func (d *due) faults() {
	if d.v.Market == nil {
		return
	}
	mint := d.v.Market.StakeMint
	inOrder(d.v.Faults, func(key solana.PublicKey, f *market.Fault) {
		id := fmt.Sprintf("%s/%d", key, f.ApplicableAt)
		switch {
		case f.CanApply(d.now) == nil:
			instruction, err := ix.SlashApply(ix.SlashApplyArgs{Payer: d.signer(), Fault: *f, StakeMint: mint})
			d.add(Action{Kind: SlashApply, Key: id, Since: f.ApplicableAt}, instruction, err)
		case f.Applied() && !d.compensate(id, f) && f.CanClose(d.now) == nil:
			instruction, err := ix.SlashClose(*f, mint)
			d.add(Action{Kind: SlashClose, Key: id, Since: f.ClaimsUntil}, instruction, err)
		}
	})
}

// compensate has a fault compensate its leases; false when none is left. A lease that gets nothing is told so too: it
// cannot close before.
func (d *due) compensate(id string, f *market.Fault) bool {
	left := false
	inOrder(d.v.Leases, func(key solana.PublicKey, l *market.Lease) {
		if f.CanCompensate(l) != nil {
			return
		}
		left = true
		instruction, err := ix.SlashCompensate(ix.SlashCompensateArgs{Payer: d.signer(), Fault: *f, Lease: *l})
		d.add(Action{Kind: SlashCompensate, Key: fmt.Sprintf("%s/%s/%d", id, key, l.AwardedAt), Since: f.ApplicableAt}, instruction, err)
	})
	return left
}

// payouts claims what waits for this keeper, and those of others whose rent comes back to it.
func (d *due) payouts() {
	if d.v.Market == nil {
		return
	}
	mint := d.v.Market.StakeMint
	inOrder(d.v.Payouts, func(key solana.PublicKey, p *market.Payout) {
		if d.now < p.PayableAt || p.Beneficiary != d.signer() && p.RentPayer != d.signer() {
			return
		}
		a := Action{Kind: PayoutClaim, Key: fmt.Sprintf("%s/%d", key, p.PayableAt), Mine: true, Since: p.PayableAt}
		a.Instructions = append(a.Instructions, ix.CreateTokenAccount(d.signer(), p.Beneficiary, mint))
		instruction, err := ix.PayoutClaim(*p, mint)
		d.add(a, instruction, err)
	})
}

// guarantees resolves those that are over, where there are many leases in several steps. What keepers know of their last periods is applied before; the fault of a
// broken one is applied as every other.
func (d *due) guarantees() {
	inOrder(d.v.Nodes, func(key solana.PublicKey, n *market.Node) {
		if n.GuaranteedUntil == 0 || n.CanResolveGuarantee(d.now) != nil {
			return
		}
		since, _ := n.ResolvesAt()
		a := Action{Kind: GuaranteeResolve, Key: fmt.Sprintf("%s/%d/%d", key, n.GuaranteedUntil, n.GuaranteeOpen), Since: since}
		instruction, err := ix.GuaranteeResolve(ix.GuaranteeResolveArgs{Payer: d.signer(), Node: *n, Leases: d.guaranteedLeases(n)})
		d.add(a, instruction, err)
	})
}

// guaranteedAtOnce is how many leases a transaction counts for a guarantee: each is an account.
const guaranteedAtOnce = 20

// guaranteedLeases are leases of a node that were awarded before the end of its guarantee, are not closed, and that it has not
// counted: as many as one transaction counts.
func (d *due) guaranteedLeases(n *market.Node) (leases []solana.PublicKey) {
	for key := range d.v.LeasesOfNode[n.Address] {
		if l := d.v.Leases[key]; l.AwardedAt < n.GuaranteedUntil && l.CountedUntil != n.GuaranteedUntil {
			leases = append(leases, key)
		}
	}
	slices.SortFunc(leases, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return leases[:min(len(leases), guaranteedAtOnce)]
}

func (d *due) reports() {
	for _, period := range periods(d.v) {
		r := d.v.Reports[period]
		if r.CanClose(d.params, d.now) == nil {
			instruction, err := ix.ReportClose(*r)
			d.add(Action{Kind: ReportClose, Key: fmt.Sprintf("%d/%d", period, r.CreatedAt)}, instruction, err)
		}
	}
}

// periods lists those that have a report, oldest first.
func periods(v *view.Accounts) []uint64 {
	out := make([]uint64, 0, len(v.Reports))
	for p := range v.Reports {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}
