package crank

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// rewards splits swept fees once a period that has a final report, and claims what this keeper has earned.
func (d *due) rewards() {
	r, m := d.v.Rewards, d.v.Market
	if r == nil || m == nil {
		return
	}
	self := d.v.Keepers[d.self]
	for _, period := range periods(d.v) {
		report := d.v.Reports[period]
		if report.State() != market.ReportFinal {
			continue
		}
		ripe := int64(period+2) * int64(d.params.PeriodSecs)
		if r.Pending > 0 && period > r.LastPeriod && d.now >= ripe {
			instruction, err := ix.RewardsAccrue(ix.RewardsAccrueArgs{Period: period, Treasury: m.Treasury})
			d.add(Action{Kind: RewardsAccrue, Key: fmt.Sprint(period), Since: ripe}, instruction, err)
			break // the others share what is swept later
		}
	}
	if self == nil {
		return
	}
	for _, period := range periods(d.v) {
		if share := d.v.Reports[period].Share(self); share > 0 {
			d.claim(self, period, fmt.Sprintf("%s/report/%d", d.self, period))
			return // what awards have earned comes with it; the next report when this one is seen to be claimed
		}
	}
	if self.Earned > 0 {
		d.claim(self, 0, fmt.Sprintf("%s/awards/%d/%d", d.self, self.Earned, d.v.Rewards.Earned))
	}
}

func (d *due) claim(k *market.Keeper, period uint64, key string) {
	a := Action{Kind: RewardsClaim, Key: key}
	a.Instructions = append(a.Instructions, ix.CreateTokenAccount(d.signer(), k.Wallet, d.v.Market.PaymentMint))
	instruction, err := ix.RewardsClaim(ix.RewardsClaimArgs{Keeper: k.Wallet, PaymentMint: d.v.Market.PaymentMint, Period: period})
	d.add(a, instruction, err)
}

// disputes closes those that are decided or out of time.
func (d *due) disputes() {
	inOrder(d.v.Disputes, func(key solana.PublicKey, q *market.Dispute) {
		l, ok := d.v.Leases[q.Lease]
		if !ok {
			return
		}
		id := fmt.Sprintf("%s/%d", key, q.OpenedAt)
		switch verdict := q.Verdict(); {
		case verdict == market.VerdictUpheld:
			instruction, err := ix.DisputeUphold(ix.DisputeUpholdArgs{Payer: d.signer(), Dispute: *q, Lease: *l, Model: d.node(l.Node).Spec.Model})
			d.add(Action{Kind: DisputeUphold, Key: id}, instruction, err)
		case verdict == market.VerdictRejected || d.now >= q.ClosesAt:
			p, ok := d.v.Providers[l.Provider]
			if !ok {
				return
			}
			instruction, err := ix.DisputeResolve(ix.DisputeResolveArgs{Dispute: *q, Lease: *l, Payout: p.Payout})
			d.add(Action{Kind: DisputeResolve, Key: id}, instruction, err)
		}
	})
}

// outputs has the outputs of redundant jobs compared once all are shown or their time is over, and those forfeit stake
// that committed to an output and withheld it.
func (d *due) outputs() {
	inOrder(d.v.Leases, func(key solana.PublicKey, l *market.Lease) {
		if market.OutputState(l.Output) == market.OutputWithheld {
			instruction, err := ix.OutputForfeit(*l, d.v.Market.StakeMint)
			d.add(Action{Kind: OutputForfeit, Key: fmt.Sprintf("%s/%d", key, l.AwardedAt), Since: l.ResolvedAt}, instruction, err)
		}
	})
	inOrder(d.v.Orders, func(key solana.PublicKey, o *market.Order) {
		if o.Redundant == 0 || o.LiveLeases == 0 || len(d.v.LeasesOfOrder[key]) != int(o.LiveLeases) {
			return
		}
		leases := make([]solana.PublicKey, 0, o.LiveLeases)
		shown := true
		for at := range d.v.LeasesOfOrder[key] {
			l := d.v.Leases[at]
			switch state := market.OutputState(l.Output); {
			case state < market.OutputWanted || state > market.OutputRevealed:
				return
			case state != market.OutputRevealed:
				shown = false
			}
			leases = append(leases, at)
		}
		if !shown && (o.RevealBy == 0 || d.now <= o.RevealBy) {
			return
		}
		slices.SortFunc(leases, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
		instruction, err := ix.OutputResolve(key, leases)
		d.add(Action{Kind: OutputResolve, Key: fmt.Sprintf("%s/%d", key, o.AwardedAt)}, instruction, err)
	})
}
