package crank

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Gains are the transactions that anyone may send and that a keeper sends where they pay it: buy-backs, and emission
// claims of a provider that has the keeper's wallet.
type Gains struct {
	Self solana.PublicKey
	// Price is what a whole stake token is worth to the operator; 0 sends no buy-backs and values emission at the
	// market's own price.
	Price market.USDC
	// Least is the lowest profit for which a transaction is sent.
	Least market.USDC
	// Tokens is how many stake tokens the keeper's signer holds.
	Tokens func() market.GNT
}

// Due lists what pays now (unix seconds on our clock).
func (g *Gains) Due(v *view.Accounts, now int64) ([]Action, error) {
	params, ok := v.Params()
	if !ok || v.Rewards == nil {
		return nil, nil
	}
	d := due{v: v, self: g.Self, now: now - Margin, params: &params}
	g.buyBack(&d)
	g.emission(&d)
	return d.out, d.err
}

// buyBack takes what waits for a buy-back when its price has fallen far enough. Other keepers look at the same price: the
// first one to whom it is worth it has it.
func (g *Gains) buyBack(d *due) {
	r := d.v.Rewards
	if g.Price == 0 || r.BuyBack == 0 {
		return
	}
	// By the chain's clock, which may be behind ours, it still costs as much.
	cost, err := r.BuyBackCost(market.USDC(d.params.StakePrice), d.now)
	if err != nil || cost > g.Tokens() {
		return
	}
	worth, err := cost.Worth(g.Price)
	if err != nil || worth > market.USDC(r.BuyBack) || market.USDC(r.BuyBack)-worth < g.Least {
		return
	}
	a := Action{Kind: RewardsBuyBack, Key: fmt.Sprintf("%d/%d", r.BuyBackSince, r.BuyBack)}
	a.Instructions = append(a.Instructions, ix.CreateTokenAccount(d.signer(), d.signer(), d.v.Market.PaymentMint))
	instruction, err := ix.RewardsBuyBack(ix.RewardsBuyBackArgs{
		Buyer: d.signer(), PaymentMint: d.v.Market.PaymentMint, StakeMint: d.v.Market.StakeMint, MaxBurn: cost,
	})
	d.add(a, instruction, err)
}

// emission claims what fees have earned the keeper's own provider.
func (g *Gains) emission(d *due) {
	address := market.ProviderAddress(d.self)
	p, ok := d.v.Providers[address]
	if !ok || p.Emission == 0 {
		return
	}
	price := g.Price
	if price == 0 {
		price = market.USDC(d.params.StakePrice)
	}
	if gain, err := market.GNT(p.Emission).Worth(price); err != nil || gain < g.Least {
		return
	}
	instruction, err := ix.EmissionClaim(address)
	d.add(Action{Kind: EmissionClaim, Key: fmt.Sprintf("%s/%d", address, p.Emission), Mine: true}, instruction, err)
}
