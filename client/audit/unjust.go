package audit

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// unjust is what an auditor knows of the lease's award: whether it was shown to be unjust, and who stopped its auction.
type unjust struct {
	repricedSecs uint32      // paid for when the price fell
	repricedPaid market.USDC // for them
	disproven    bool
	sealed       bool             // its award is the auction's
	first        solana.PublicKey // the keeper that made the first award of the order's auction
	stopped      bool             // another keeper made awards of it
}

// owed is what seconds cost: those that were paid before the price fell at the former price.
func (a *auditor) owed(seconds uint32) (market.USDC, error) {
	if seconds < a.repricedSecs {
		return 0, fmt.Errorf("%d s are less than the %d s that were paid when the price fell", seconds, a.repricedSecs)
	}
	rest, err := market.Cost(a.lease.Price, a.lease.GPUs, seconds-a.repricedSecs)
	return a.repricedPaid + rest, err
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
		a.repricedSecs, a.repricedPaid = a.lease.PaidSecs, a.lease.Paid
		a.lease.Price = price
		text = fmt.Sprintf("what was not paid by then costs %s USDC per GPU-hour, and the provider may end it at once", price)
	}
	a.disproven = true
	a.step(t, "unjust award", c, "node %s had a better score (%d) than the award (%d): %s; keeper %s lost %s GNT of its bond, and its share of the fee",
		v.Better, v.BetterScore, v.AwardedScore, text, v.Keeper, market.GNT(v.Amount))
}
