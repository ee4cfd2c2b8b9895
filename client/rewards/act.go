package rewards

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Buy burns GNT of the desk's wallet for the fees that wait for a buy-back, at most most.
func Buy(ctx context.Context, d *operate.Desk, most market.GNT) (operate.Action, error) {
	r, now, err := read(ctx, d)
	if err != nil {
		return operate.Action{}, err
	}
	cost, err := Affordable(&r, market.USDC(d.Market.Params.StakePrice), most, now)
	if err != nil {
		return operate.Action{}, err
	}
	if err := operate.HasGNT(ctx, d.Service, "buy-back", d.Key, d.Market.StakeMint, cost); err != nil {
		return operate.Action{}, err
	}
	payment := d.Market.PaymentMint
	instruction, err := ix.RewardsBuyBack(ix.RewardsBuyBackArgs{Buyer: d.Key, PaymentMint: payment, StakeMint: d.Market.StakeMint, MaxBurn: most})
	a, err := operate.NewAction("rewards_buy_back", d.Key, "bought back", instruction, err, ix.CreateTokenAccount(d.Key, d.Key, payment))
	a.Asks = fmt.Sprintf("buy back at most %s GNT of the wallet are burned, %s now", most, cost)
	return a, err
}

// Emit stakes the emission that is due to a provider, the owner of a wallet; anyone may.
func Emit(ctx context.Context, d *operate.Desk, wallet solana.PublicKey) (operate.Action, error) {
	p, err := d.Provider(ctx, wallet)
	if err != nil {
		return operate.Action{}, err
	}
	r, now, err := read(ctx, d)
	if err != nil {
		return operate.Action{}, err
	}
	if err := EmitDue(ctx, d.Service, &d.Market, &r, &p, now); err != nil {
		return operate.Action{}, err
	}
	instruction, err := ix.EmissionClaim(p.Address)
	return operate.NewAction("emission_claim", wallet, "staked", instruction, err)
}

// read reads where the fees are, and the cluster's time, unix seconds.
func read(ctx context.Context, d *operate.Desk) (r market.Rewards, now int64, err error) {
	if r, err = Find(ctx, d.Client); err != nil {
		return r, 0, err
	}
	now, err = d.Client.Now(ctx)
	return r, now, err
}
