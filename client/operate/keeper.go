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

// Keeper is the keeper of a wallet.
func (d *Desk) Keeper(ctx context.Context, wallet solana.PublicKey) (market.Keeper, error) {
	k, ok, err := query.Find[market.Keeper](ctx, d.Client, market.KeeperAddress(wallet), d.Client.WaitLevel())
	if err == nil && !ok {
		err = service.Refused(fmt.Sprintf("wallet %s is not a keeper", wallet), "become one with: gantry keeper register --bond GNT --addr ADDRESS")
	}
	return k, err
}

// SignedFor is the keeper for which the desk's key signs: the wallet's own, or the one whose wallet has named the key.
func (d *Desk) SignedFor(ctx context.Context) (market.Keeper, error) {
	k, ok, err := query.Find[market.Keeper](ctx, d.Client, market.KeeperAddress(d.Key), d.Client.WaitLevel())
	switch {
	case err != nil || ok && k.SigningKey() == d.Key:
		return k, err
	case ok:
		return k, service.Refused(fmt.Sprintf("keeper %s is signed for by %s, not by its wallet", k.Wallet, k.SigningKey()), "give --keypair with that key's file")
	}
	all, err := query.Select[market.Keeper](ctx, d.Client, query.KeepersSignedBy(d.Key), d.Client.WaitLevel())
	if err != nil {
		return market.Keeper{}, err
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return d.Keeper(ctx, d.Key)
}

// RegisterKeeper bonds the wallet as a keeper.
func (d *Desk) RegisterKeeper(ctx context.Context, bond market.GNT, addr string) (Action, error) {
	p := &d.Market.Params
	if uint64(bond) < p.MinBond {
		return Action{}, service.Refused(fmt.Sprintf("bond refused: %s GNT, the smallest bond is %s", bond, market.GNT(p.MinBond)), "bond more")
	}
	if err := HasGNT(ctx, d.Service, "bond", d.Key, d.Market.StakeMint, bond); err != nil {
		return Action{}, err
	}
	instruction, err := ix.KeeperRegister(ix.KeeperRegisterArgs{Wallet: d.Key, StakeMint: d.Market.StakeMint, Bond: bond, Multiaddr: addr})
	a, err := NewAction("keeper_register", d.Key, fmt.Sprintf("bonded %s GNT; activate it in %s", bond, market.Seconds(p.KeeperActivationSecs)), instruction, err)
	a.Asks = fmt.Sprintf("bond     %s GNT of the wallet; it can be slashed, and comes back %s after the exit", bond, market.Seconds(p.KeeperExitSecs))
	return a, err
}

// ActivateKeeper lets the keeper's weight count, once its delay has passed.
func (d *Desk) ActivateKeeper(ctx context.Context) (Action, error) {
	k, err := d.SignedFor(ctx)
	if err != nil {
		return Action{}, err
	}
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	at := k.PendingSince + int64(d.Market.Params.KeeperActivationSecs)
	switch {
	case k.State() != market.KeeperPending:
		return Action{}, service.Refused(fmt.Sprintf("keeper %s is %s", k.Wallet, k.State()), "nothing is left to do")
	case now < at:
		return Action{}, service.Refused(fmt.Sprintf("keeper %s can be activated at %s UTC, in %s", k.Wallet, service.When(at), service.Span(at-now)), "come back then")
	}
	instruction, err := ix.KeeperActivateBy(k.Wallet, d.Key)
	return NewAction("keeper_activate", k.Wallet, "is active", instruction, err)
}

// MoveKeeper says where the keeper is.
func (d *Desk) MoveKeeper(ctx context.Context, addr string) (Action, error) {
	if _, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: d.Key, Multiaddr: addr}); err != nil {
		return Action{}, err // a wrong address is refused before anything is read
	}
	k, err := d.SignedFor(ctx)
	if err != nil {
		return Action{}, err
	}
	instruction, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: k.Wallet, Signer: d.Key, Multiaddr: addr})
	return NewAction("keeper_update", k.Wallet, "is at "+addr, instruction, err)
}

// ExitKeeper has the wallet's keeper vote no more.
func (d *Desk) ExitKeeper(ctx context.Context) (Action, error) {
	if _, err := d.Keeper(ctx, d.Key); err != nil {
		return Action{}, err
	}
	instruction, err := ix.KeeperRequestExit(d.Key)
	return NewAction("keeper_request_exit", d.Key, fmt.Sprintf("leaves; its bond is free in %s", market.Seconds(d.Market.Params.KeeperExitSecs)), instruction, err)
}

// WithdrawBond takes the bond of a keeper that has left, after its exit time.
func (d *Desk) WithdrawBond(ctx context.Context) (Action, error) {
	k, err := d.Keeper(ctx, d.Key)
	if err != nil {
		return Action{}, err
	}
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	switch {
	case k.State() != market.KeeperExiting:
		return Action{}, service.Refused(fmt.Sprintf("keeper %s is %s", d.Key, k.State()), "leave first with: gantry keeper exit")
	case now < k.ExitAt:
		return Action{}, service.Refused(fmt.Sprintf("the bond is free at %s UTC, in %s", service.When(k.ExitAt), service.Span(k.ExitAt-now)), "come back then")
	case k.Earned > 0:
		return Action{}, service.Refused(fmt.Sprintf("keeper %s has %s USDC to claim first", d.Key, market.USDC(k.Earned).Exact()), "claim them with: gantry rewards claim")
	}
	instruction, err := ix.KeeperWithdraw(ix.WithdrawStakeArgs{Wallet: d.Key, StakeMint: d.Market.StakeMint})
	return NewAction("keeper_withdraw", d.Key, "has left; bond and rent are back in the wallet", instruction, err, d.account(d.Market.StakeMint))
}

// Idleness says how near a keeper is to losing its weight for not voting, or that it has lost it.
func Idleness(mk *market.Market, k *market.Keeper) string {
	switch missed := k.MissedReports(mk); {
	case k.State() == market.KeeperPending && k.PendingSince != k.RegisteredAt:
		return fmt.Sprintf("suspended %s UTC for not voting; its wallet may activate it from %s UTC on", service.When(k.PendingSince), service.When(k.PendingSince+int64(mk.Params.KeeperActivationSecs)))
	case missed == 0:
		return "no"
	default:
		return fmt.Sprintf("%d final reports without its vote; above %d anyone may suspend it", missed, market.IdleReports)
	}
}
