package demo

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// replay has the client recompute a sealed order's winner and price from the chain and the keepers' published bids,
// after its lease is closed.
func (d *demo) replay(ctx context.Context, step int, customer seed.Wallet, lease market.Lease) error {
	history, err := d.past(ctx, lease.Order)
	if err != nil {
		return err
	}
	_, award, ok := invariants.Find(history, func(e *bindings.AuctionAwarded) bool { return e.Order == lease.Order })
	if !d.expect.that(ok, "the auction's award is in the order's history") {
		return nil
	}
	d.expect.that(award.Price > award.Bid && market.PricePerHour(award.Price) < market.PricePerHour(1_600_000), "the winner is paid the second price",
		"bid %s, price %s", market.PricePerHour(award.Bid), market.PricePerHour(award.Price))
	equal(d.expect, award.Node, lease.Node, "the lease is the auction winner's")
	out, err := d.gantry(ctx, customer, "auction", "replay", lease.Order.String())
	if err != nil {
		return err
	}
	var replayed struct {
		OK   bool
		Bids []struct{ Outcome, Price string }
	}
	if err := out.Decode(&replayed); err != nil {
		return err
	}
	d.expect.that(replayed.OK, "the auction's replay finds no unjust award")
	equal(d.expect, len(replayed.Bids), 2, "both A100s have bid")
	d.out.note(step, fmt.Sprintf("replayed: %d sealed bids, the winner's %s is paid by the best losing one: %s $/GPU-h; the award is just",
		len(replayed.Bids), market.PricePerHour(award.Bid), market.PricePerHour(award.Price)))
	d.audits.add(audited{command: []string{"auction", "replay", lease.Order.String()}, customer: customer, what: "the sealed auction"})
	return nil
}
