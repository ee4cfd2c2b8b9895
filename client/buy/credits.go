package buy

import (
	"context"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// AddCredits deposits USDC of the buyer's wallet into its credits, of which orders are paid. A session key cannot.
func (b *Buyer) AddCredits(ctx context.Context, amount market.USDC) (service.Sent, error) {
	if !b.authority.IsZero() {
		return service.Sent{}, refused("a session key deposits nothing", "the customer adds credits with its wallet: gantry credits add")
	}
	mk, err := b.market(ctx)
	if err != nil {
		return service.Sent{}, err
	}
	instruction, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: b.customer, PaymentMint: mk.PaymentMint, Amount: amount})
	return b.sendOne(ctx, "credits_deposit", instruction, err)
}
