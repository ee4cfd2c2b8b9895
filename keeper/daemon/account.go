package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Account sends a keeper's own transactions: bond, exit and withdrawal. It has a transaction store of its own, so that
// it works beside a running keeper.
type Account struct {
	c       Config
	market  market.Market
	intents *txm.Store
	txm     *txm.Manager
	now     func() time.Time // the chain's
}

// OpenAccount checks the cluster. Close must be called.
func OpenAccount(ctx context.Context, c Config) (*Account, error) {
	a := &Account{c: c}
	at, err := chainTime(ctx, c, c.Log)
	if err != nil {
		return nil, err
	}
	a.now = at.Now
	if a.market, err = query.Load(ctx, c.Client, chain.Confirmed); err != nil {
		return nil, err
	}
	genesis, err := c.Client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	if a.intents, err = txm.OpenStore(c.path(fileCommand), genesis); err != nil {
		return nil, err
	}
	a.txm, err = txm.New(txm.Options{
		RPC: c.Client, Store: a.intents, Keys: txm.NewKeys(a.owner()), Payer: a.Wallet(), Log: c.Log, Fees: c.Fees,
	})
	if err != nil {
		_ = a.intents.Close()
		return nil, err
	}
	return a, nil
}

// Close releases the store.
func (a *Account) Close() error {
	a.txm.Close()
	return a.intents.Close()
}

// Now is the chain's time.
func (a *Account) Now() time.Time { return a.now() }

// owner signs what the account sends.
func (a *Account) owner() txm.Signer {
	if a.c.Owner != nil {
		return a.c.Owner
	}
	return a.c.Wallet
}

// Wallet is the keeper's.
func (a *Account) Wallet() solana.PublicKey { return a.owner().PublicKey() }

// Keeper reads the keeper of the wallet, or for which the key signs; false when there is none.
func (a *Account) Keeper(ctx context.Context) (market.Keeper, bool, error) {
	wallet, err := keeperOf(ctx, a.c, a.Wallet())
	if err != nil {
		return market.Keeper{}, false, err
	}
	return query.Find[market.Keeper](ctx, a.c.Client, market.KeeperAddress(wallet), chain.Confirmed)
}

// own reads the keeper of the wallet; false when it has none. What only the wallet may do is not the signer's.
func (a *Account) own(ctx context.Context) (market.Keeper, bool, error) {
	return query.Find[market.Keeper](ctx, a.c.Client, market.KeeperAddress(a.Wallet()), chain.Confirmed)
}

// Market is as read at the start.
func (a *Account) Market() market.Market { return a.market }

// send submits one instruction under an id that is new with each life of the keeper account.
func (a *Account) send(ctx context.Context, id, kind string, ixs ...solana.Instruction) (txm.Result, error) {
	res, err := a.txm.Submit(ctx, txm.Intent{ID: id, Kind: kind, Instructions: ixs})
	return res, market.Explain(err)
}

// Register bonds the wallet, with a signer apart from it where a consent is given, or writes a new address when it is
// bonded already and signs for itself. It reports whether it was new. Errors: ErrConsent, the chain's.
func (a *Account) Register(ctx context.Context, bond market.GNT, signer Consent) (fresh bool, err error) {
	addr, err := announce(a.c.Announce, a.c.Listen, nil)
	if err != nil {
		return false, err
	}
	k, exists, err := a.own(ctx)
	if err != nil {
		return false, err
	}
	stamp := a.now().UnixNano()
	if exists {
		if k.Addr() == addr || k.SigningKey() != a.Wallet() {
			return false, nil // a running keeper writes its address itself
		}
		instruction, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: a.Wallet(), Multiaddr: addr})
		if err != nil {
			return false, err
		}
		_, err = a.send(ctx, fmt.Sprintf("update/%d", stamp), "keeper_update", instruction)
		return false, err
	}
	instruction, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
		Wallet: a.Wallet(), StakeMint: a.market.StakeMint, Bond: bond, Multiaddr: addr, Signer: signer.Key,
	})
	if err != nil {
		return false, err
	}
	ixs, err := a.agreed(signer)
	if err != nil {
		return false, err
	}
	// The account itself makes the intent unique: a second registration finds it there.
	_, err = a.send(ctx, fmt.Sprintf("register/%d", stamp), "keeper_register", append(ixs, instruction)...)
	return err == nil, err
}

// Activate waits for the activation delay, then lets the weight count.
func (a *Account) Activate(ctx context.Context) (market.Keeper, error) {
	for {
		k, ok, err := a.own(ctx)
		if err != nil {
			return k, err
		}
		if !ok {
			return k, ErrNotRegistered
		}
		if k.State() != market.KeeperPending || k.SigningKey() != a.Wallet() {
			return k, nil // its signer activates it
		}
		if now := a.now().Unix(); k.CanActivate(&a.market.Params, now-1) == nil {
			instruction, err := ix.KeeperActivate(a.Wallet())
			if err != nil {
				return k, err
			}
			if _, err := a.send(ctx, fmt.Sprintf("activate/%d/%d", k.PendingSince, now), "keeper_activate", instruction); err != nil && !market.AlreadyDone(err) && !market.Is(err, market.CodeTooEarly) {
				return k, err
			}
		}
		if err := wait.For(ctx, 250*time.Millisecond); err != nil {
			return k, err
		}
	}
}

// Exit asks to leave: the weight counts no more at once, the bond stays until the time returned.
func (a *Account) Exit(ctx context.Context) (time.Time, error) {
	k, ok, err := a.own(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if !ok {
		return time.Time{}, fmt.Errorf("%w: %s", ErrNotRegistered, a.Wallet())
	}
	if k.State() != market.KeeperExiting {
		instruction, err := ix.KeeperRequestExit(a.Wallet())
		if err != nil {
			return time.Time{}, err
		}
		if _, err := a.send(ctx, fmt.Sprintf("exit/%d", k.RegisteredAt), "keeper_request_exit", instruction); err != nil {
			return time.Time{}, err
		}
		if k, _, err = a.own(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return time.Unix(k.ExitAt, 0).UTC(), nil
}

// Withdraw takes bond and rent after the exit time.
func (a *Account) Withdraw(ctx context.Context) (market.GNT, error) {
	k, ok, err := a.own(ctx)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("%w: %s", ErrNotRegistered, a.Wallet())
	}
	at := time.Unix(k.ExitAt, 0).UTC()
	switch {
	case k.State() != market.KeeperExiting:
		return 0, fmt.Errorf("%w: the keeper is %s; leave first with `gantry-keeper exit`", ErrBonded, k.State())
	case a.now().Before(at):
		return 0, fmt.Errorf("%w until %s", ErrBonded, at.Format(time.RFC3339))
	}
	mint := a.market.StakeMint
	instruction, err := ix.KeeperWithdraw(ix.WithdrawStakeArgs{Wallet: a.Wallet(), StakeMint: mint})
	if err != nil {
		return 0, err
	}
	_, err = a.send(ctx, fmt.Sprintf("withdraw/%d", k.RegisteredAt), "keeper_withdraw",
		ix.CreateTokenAccount(a.Wallet(), a.Wallet(), mint), instruction)
	return market.GNT(k.Bond), err
}
