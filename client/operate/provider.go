package operate

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// FindProvider is the provider of a wallet; ok is false for wallets that are none.
func (d *Desk) FindProvider(ctx context.Context, wallet solana.PublicKey) (p market.Provider, ok bool, err error) {
	return query.Find[market.Provider](ctx, d.Client, market.ProviderAddress(wallet), d.Client.WaitLevel())
}

// Provider is FindProvider with an error for wallets that are none.
func (d *Desk) Provider(ctx context.Context, wallet solana.PublicKey) (market.Provider, error) {
	p, ok, err := d.FindProvider(ctx, wallet)
	if err == nil && !ok {
		err = service.Refused(fmt.Sprintf("wallet %s is not a provider", wallet), "become one with: gantry provider register")
	}
	return p, err
}

// RegisterProvider makes the wallet a provider.
func (d *Desk) RegisterProvider(ctx context.Context) (Action, error) {
	if _, exists, err := d.FindProvider(ctx, d.Key); err != nil {
		return Action{}, err
	} else if exists {
		return Action{}, service.Refused(fmt.Sprintf("wallet %s is a provider already", d.Key), "see: gantry provider show")
	}
	instruction, err := ix.ProviderRegister(ix.ProviderRegisterArgs{Wallet: d.Key, PaymentMint: d.Market.PaymentMint, StakeMint: d.Market.StakeMint})
	return NewAction("provider_register", d.Key, "registered", instruction, err, d.account(d.Market.PaymentMint))
}

// AddStake adds GNT of the wallet as stake.
func (d *Desk) AddStake(ctx context.Context, amount market.GNT) (Action, error) {
	if _, err := d.Provider(ctx, d.Key); err != nil {
		return Action{}, err
	}
	if err := HasGNT(ctx, d.Service, "stake", d.Key, d.Market.StakeMint, amount); err != nil {
		return Action{}, err
	}
	instruction, err := ix.ProviderStake(ix.ProviderStakeArgs{Wallet: d.Key, StakeMint: d.Market.StakeMint, Amount: amount})
	a, err := NewAction("provider_stake", d.Key, fmt.Sprintf("staked %s GNT", amount), instruction, err)
	a.Asks = fmt.Sprintf("stake    %s GNT of the wallet; they can be slashed, and come back %s after you ask for them", amount, market.Seconds(d.Market.Params.UnstakeCooldownSecs))
	return a, err
}

// Unstake asks stake back that no node needs.
func (d *Desk) Unstake(ctx context.Context, amount market.GNT) (Action, error) {
	p, err := d.Provider(ctx, d.Key)
	if err != nil {
		return Action{}, err
	}
	if free := market.GNT(p.Stake - min(p.Stake, p.LockedStake)); amount > free {
		return Action{}, service.Refused(fmt.Sprintf("unstake refused: %s GNT asked, %s not needed by your nodes", amount, free), "retire and close nodes first: gantry node list")
	}
	instruction, err := ix.ProviderRequestUnstake(ix.ProviderRequestUnstakeArgs{Wallet: d.Key, Amount: amount})
	return NewAction("provider_request_unstake", d.Key, fmt.Sprintf("asked %s GNT back", amount), instruction, err)
}

// WithdrawStake takes out stake whose cooldown has passed.
func (d *Desk) WithdrawStake(ctx context.Context) (Action, error) {
	p, err := d.Provider(ctx, d.Key)
	if err != nil {
		return Action{}, err
	}
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	switch {
	case p.Unstaking == 0:
		return Action{}, service.Refused("nothing is on its way out", "ask stake back first with: gantry provider unstake AMOUNT")
	case now < p.UnstakeAt:
		return Action{}, service.Refused(fmt.Sprintf("the cooldown runs until %s UTC, %s more", service.When(p.UnstakeAt), service.Span(p.UnstakeAt-now)), "come back then")
	}
	instruction, err := ix.ProviderWithdrawStake(ix.WithdrawStakeArgs{Wallet: d.Key, StakeMint: d.Market.StakeMint})
	return NewAction("provider_withdraw_stake", d.Key, fmt.Sprintf("withdrew %s GNT", market.GNT(p.Unstaking)), instruction, err, d.account(d.Market.StakeMint))
}

// SetPayout sends earnings to another account of the payment token.
func (d *Desk) SetPayout(ctx context.Context, to solana.PublicKey) (Action, error) {
	if _, err := d.Provider(ctx, d.Key); err != nil {
		return Action{}, err
	}
	instruction, err := ix.ProviderSetPayout(ix.ProviderSetPayoutArgs{Wallet: d.Key, Payout: to})
	return NewAction("provider_set_payout", d.Key, "earnings go to "+to.String(), instruction, err)
}

// CloseProvider closes the provider's account.
func (d *Desk) CloseProvider(ctx context.Context) (Action, error) {
	if _, err := d.Provider(ctx, d.Key); err != nil {
		return Action{}, err
	}
	instruction, err := ix.ProviderClose(ix.WithdrawStakeArgs{Wallet: d.Key, StakeMint: d.Market.StakeMint})
	return NewAction("provider_close", d.Key, "closed; the rent is back in your wallet", instruction, err, d.account(d.Market.StakeMint))
}
