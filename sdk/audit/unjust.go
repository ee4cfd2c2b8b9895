package audit

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// unjust is what an auditor knows of the lease's award: whether it was shown to be unjust, and who stopped its auction.
type unjust struct {
	repricedSecs uint32      // served when the price fell
	repricedPaid market.USDC // for them
	disproven    bool
	sealed       bool             // its award is the auction's
	first        solana.PublicKey // the keeper that made the first award of the order's auction
	stopped      bool             // another keeper made awards of it
}

// owed is what seconds cost: those that were served before the price fell at the former price.
func (a *auditor) owed(seconds uint32) (market.USDC, error) {
	l := market.Lease{}
	l.Price, l.Gpus, l.PaidSecs, l.Paid = uint64(a.lease.Price), a.lease.GPUs, a.lease.PaidSecs, uint64(a.lease.Paid)
	l.RepricedSecs, l.RepricedPaid = a.repricedSecs, uint64(a.repricedPaid)
	return l.Owed(seconds)
}

// awardedBy notes who makes the awards of the order's auction. Awards of an order that opened again are no auction's.
func (a *auditor) awardedBy(v *bindings.AuctionAwarded) {
	if a.first.IsZero() {
		a.first = v.Keeper
	}
	a.stopped = a.stopped || v.Keeper != a.first
}

// forfeits says why the keeper that awarded the lease has no share of its fee; empty when it has.
func (a *auditor) forfeits() string {
	switch {
	case a.disproven:
		return "its award was shown to be unjust"
	case a.stopped && a.sealed && a.award.Keeper == a.first:
		return "it left other awards of the order to another keeper"
	}
	return ""
}

// proven reprices the lease.
func (a *auditor) proven(t Tx, e market.Event) {
	v, ok := e.Value.(*bindings.UnjustAwardProven)
	if !ok || v.Lease != a.lease.Address {
		return
	}
	c := a.checks()
	price := market.PricePerHour(v.Price)
	c.require(!a.disproven, "it was shown before")
	c.require(v.BetterScore < v.AwardedScore, "the score %d is not better than %d", v.BetterScore, v.AwardedScore)
	c.follows(ofAward|ofPrice, price <= a.lease.Price, "the price rose to %s", price)
	text := "the price stays"
	if a.gaps&ofPaid != 0 {
		a.gaps |= ofPrice // what was paid at the former price is not known
	}
	if price < a.lease.Price {
		want, err := a.owed(v.ServedSecs)
		c.amount(ofAward|ofPrice|ofPaid, "what was served by then", v.Served, want, err)
		a.repricedSecs, a.repricedPaid = v.ServedSecs, market.USDC(v.Served)
		a.lease.Price = price
		text = fmt.Sprintf("what is served from then on costs %s per GPU-hour, and the provider may end it at once", dollars(price))
	}
	a.disproven = true
	a.step(t, "unjust award", c, "node %s had a better score (%d) than the award (%d): %s; keeper %s lost %s GNT of its bond, and its share of the fee",
		v.Better, v.BetterScore, v.AwardedScore, text, v.Keeper, market.GNT(v.Amount))
}
