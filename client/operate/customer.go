package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Credits are the money that the wallet's orders are paid from; ok is false for a wallet that has none.
func (d *Desk) Credits(ctx context.Context) (c market.Credits, ok bool, err error) {
	return query.Find[market.Credits](ctx, d.Client, market.CreditsAddress(d.Key), d.Client.WaitLevel())
}

// Deposit brings USDC of the wallet into its credits.
func (d *Desk) Deposit(ctx context.Context, amount market.USDC) (Action, error) {
	if amount == 0 {
		return Action{}, service.Usage("an amount of 0 moves nothing", "give an amount such as 25 or 12.50")
	}
	have, err := d.Service.TokenBalance(ctx, market.TokenAddress(d.Key, d.Market.PaymentMint))
	if err != nil {
		return Action{}, err
	}
	if have < uint64(amount) {
		return Action{}, service.Refused(fmt.Sprintf("deposit refused: %s USDC asked, the wallet %s holds %s", amount, d.Key, market.USDC(have)),
			fmt.Sprintf("send %s USDC (mint %s) to it first", amount-market.USDC(have), d.Market.PaymentMint))
	}
	instruction, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: d.Key, PaymentMint: d.Market.PaymentMint, Amount: amount})
	a, err := NewAction("credits_deposit", d.Key, fmt.Sprintf("added %s USDC", amount), instruction, err)
	a.Asks = fmt.Sprintf("deposit  %s USDC of the wallet into its credits", amount)
	return a, err
}

// Withdraw takes out what no order and no lease holds: an amount, or all of it.
func (d *Desk) Withdraw(ctx context.Context, amount market.USDC, all bool) (Action, error) {
	c, ok, err := d.Credits(ctx)
	if err != nil {
		return Action{}, err
	}
	if all {
		amount = c.Free()
	}
	switch {
	case !ok:
		return Action{}, service.Refused("withdrawal refused: this wallet has no credits", "add some with: gantry credits add AMOUNT")
	case amount == 0:
		return Action{}, service.Usage("an amount of 0 moves nothing", "free credits: "+c.Free().String()+" USDC")
	case amount > c.Free():
		return Action{}, service.Refused(fmt.Sprintf("withdrawal refused: %s USDC asked, %s free%s", amount, c.Free(), service.ReservedBy(c)),
			"withdraw what is free with: gantry credits withdraw all")
	}
	instruction, err := ix.CreditsWithdraw(ix.CreditsArgs{Customer: d.Key, PaymentMint: d.Market.PaymentMint, Amount: amount})
	a, err := NewAction("credits_withdraw", d.Key, fmt.Sprintf("withdrew %s USDC", amount), instruction, err, d.account(d.Market.PaymentMint))
	a.Asks = fmt.Sprintf("withdraw %s USDC of the credits into the wallet", amount)
	return a, err
}

// CloseCredits takes everything out, rent included.
func (d *Desk) CloseCredits(ctx context.Context) (Action, error) {
	c, ok, err := d.Credits(ctx)
	switch {
	case err != nil:
		return Action{}, err
	case !ok:
		return Action{}, service.Refused("this wallet has no credits account", "make one with: gantry credits add AMOUNT")
	case c.LiveOrders > 0 || c.LiveLeases > 0:
		return Action{}, service.Refused("credits are in use"+service.ReservedBy(c), "close your leases and cancel your orders first: gantry leases, gantry order list")
	}
	instruction, err := ix.CreditsClose(ix.CreditsArgs{Customer: d.Key, PaymentMint: d.Market.PaymentMint})
	did := fmt.Sprintf("closed, %s USDC and the rent are back in your wallet", market.USDC(c.Balance))
	return NewAction("credits_close", d.Key, did, instruction, err, d.account(d.Market.PaymentMint))
}

// CancelOrder takes an order back that has no lease.
func (d *Desk) CancelOrder(ctx context.Context, o *market.Order) (Action, error) {
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	switch err := o.CanCancel(now); {
	case errors.Is(err, market.CodeTooLate):
		return Action{}, service.Refused(fmt.Sprintf("it is settled who gets order %s: its bids are open, or its machines are drawn", o.Address),
			"it is awarded, or it expires and everything is free again: gantry order list")
	case err != nil:
		return Action{}, service.Refused(fmt.Sprintf("order %s is %s and has leases", o.Address, o.State()), "stop its leases instead: gantry leases")
	}
	instruction, err := ix.OrderCancelBy(*o, d.Key)
	return NewAction("order_cancel", o.Address, fmt.Sprintf("order %s cancelled", o.Address), instruction, err)
}

// ReopenOrder looks for other nodes in place of those that did not start.
func (d *Desk) ReopenOrder(o *market.Order) (Action, error) {
	if o.State() != market.OrderLapsed {
		return Action{}, service.Refused(fmt.Sprintf("order %s is %s", o.Address, o.State()), "only an order of which a node did not start can be opened again: gantry order list")
	}
	instruction, err := ix.OrderReopen(*o, d.Key)
	a, err := NewAction("order_reopen", o.Address, fmt.Sprintf("order %s is open again", o.Address), instruction, err)
	a.Asks = fmt.Sprintf("reopen   order %s: at most %s USDC per GPU-hour are reserved again for each node that did not start", o.Address, market.PricePerHour(o.MaxPrice))
	return a, err
}

// CloseLease closes a settled lease of a node, and frees the rest of its reservation.
func (d *Desk) CloseLease(ctx context.Context, l *market.Lease, n *market.Node) (Action, error) {
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	err = l.CanClose(d.Key, n, &d.Market.Params, now)
	switch free := l.AddressFreeAt(&d.Market.Params); {
	case market.Is(err, market.CodeUnsettled):
		return Action{}, service.Refused(fmt.Sprintf("lease %s has claims that are not settled yet", l.Address),
			fmt.Sprintf("wait for the keepers' report, at the latest until %s UTC", service.When(l.ClaimableSince()+int64(l.SettleSecs))))
	case market.Is(err, market.CodeTooEarly) && now < free:
		return Action{}, service.Refused(fmt.Sprintf("lease %s closes when the period of its last second is over", l.Address),
			fmt.Sprintf("wait until %s UTC", service.When(free)))
	}
	closing := ix.LeaseCloseArgs{Authority: d.Key, Lease: *l, Emission: d.Market.Params.EmissionBps > 0}
	switch _, err := d.Client.Account(ctx, market.KeeperAddress(l.Lease.Keeper), d.Client.Commitment()); {
	case errors.Is(err, chain.ErrAccountNotFound):
		closing.KeeperGone = true
	case err != nil:
		return Action{}, err
	}
	instruction, err := ix.LeaseClose(closing)
	back := market.USDC(l.Lease.Reserved) - min(market.USDC(l.Lease.Reserved), l.FeeTotal())
	return NewAction("lease_close", l.Address, fmt.Sprintf("closed; %s USDC came back", back), instruction, err)
}

// Rate rates a lease with 1 to 5 stars. A lease is rated once.
func (d *Desk) Rate(l *market.Lease, stars uint8) (Action, error) {
	if stars < 1 || stars > 5 {
		return Action{}, service.Usage(fmt.Sprintf("%d is not a number of stars", stars), "give 1 to 5")
	}
	instruction, err := ix.LeaseRate(ix.LeaseRateArgs{Lease: *l, Stars: stars})
	return NewAction("lease_rate", l.Address, fmt.Sprintf("rated %d of 5", stars), instruction, err)
}
