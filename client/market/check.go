package market

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
)

// Load reads the market and makes sure that this client can work with it: the program is deployed, the market exists,
// its layout is this version's, and it belongs to this cluster.
// Errors: ErrProgramMissing, ErrMarketMissing, ErrProgramMismatch, chain's.
func Load(ctx context.Context, c *chain.Client, at chain.Commitment) (Market, error) {
	keys := []solana.PublicKey{ProgramID, MarketAddress()}
	accounts, err := c.Accounts(ctx, keys, at)
	if err != nil {
		return Market{}, err
	}
	program, account := accounts[0], accounts[1]
	if program == nil || !program.Executable {
		return Market{}, &Error{
			Reason: fmt.Sprintf("the market program %s is not deployed on this cluster", ProgramID),
			Advice: "check --url", kind: ErrProgramMissing, cause: ErrProgramMissing,
		}
	}
	if account == nil {
		return Market{}, &Error{
			Reason: "the market program is there, but no market has been initialised",
			Advice: "check --url; the program's upgrade authority creates one with `gantry market init`",
			kind:   ErrMarketMissing, cause: ErrMarketMissing,
		}
	}
	return checkMarket(ctx, c, *account)
}

func checkMarket(ctx context.Context, c *chain.Client, account chain.Account) (Market, error) {
	mismatch := func(cause error) error {
		return &Error{
			Reason: ErrProgramMismatch.Error(), Advice: "update gantry to the version of the market's program",
			kind: ErrProgramMismatch, cause: cause,
		}
	}
	if account.Owner != ProgramID {
		return Market{}, mismatch(fmt.Errorf("the market account belongs to %s", account.Owner))
	}
	d, err := Decode(MetaOf(account), account.Data)
	if err != nil {
		return Market{}, mismatch(err)
	}
	m, ok := d.Value.(*Market)
	if !ok {
		return Market{}, mismatch(fmt.Errorf("the market account is a %s", d.Kind))
	}
	domain, err := c.Domain(ctx)
	if err != nil {
		return Market{}, err
	}
	if m.Domain != [8]uint8(domain) {
		return Market{}, &Error{
			Reason: "the market was initialised for another cluster: signatures of this one would be worthless",
			Advice: "check --url", kind: chain.ErrWrongCluster, cause: chain.ErrWrongCluster,
		}
	}
	return *m, nil
}

// MetaOf takes the place and slot of an account that was read directly.
func MetaOf(a chain.Account) Meta {
	return Meta{Address: a.Key, Slot: a.Slot, Lamports: uint64(a.Lamports)}
}

// Fetch reads one account of a type, e.g. Fetch[market.Lease]. Errors: chain.ErrAccountNotFound, ErrUnknownAccount (of
// another type, too), ErrLayout, chain's.
func Fetch[T any](ctx context.Context, c *chain.Client, key solana.PublicKey, at chain.Commitment) (T, error) {
	var zero T
	a, err := c.Account(ctx, key, at)
	if err != nil {
		return zero, err
	}
	if a.Owner != ProgramID {
		return zero, fmt.Errorf("%s belongs to program %s: %w", key, a.Owner, ErrUnknownAccount)
	}
	d, err := Decode(MetaOf(a), a.Data)
	if err != nil {
		return zero, err
	}
	v, ok := d.Value.(*T)
	if !ok {
		return zero, fmt.Errorf("%s is a %s account: %w", key, d.Kind, ErrUnknownAccount)
	}
	return *v, nil
}

// Find is Fetch with absence as an answer instead of an error.
func Find[T any](ctx context.Context, c *chain.Client, key solana.PublicKey, at chain.Commitment) (T, bool, error) {
	v, err := Fetch[T](ctx, c, key, at)
	if errors.Is(err, chain.ErrAccountNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

// Snapshot reads all accounts once into a view that does not follow the chain.
func Snapshot(ctx context.Context, c *chain.Client, v *View, at chain.Commitment) error {
	accounts, _, err := c.ProgramAccounts(ctx, ProgramID, at, chain.Filter{})
	if err != nil {
		return err
	}
	for _, a := range accounts {
		v.Apply(eventOf(a))
	}
	v.SetReady()
	return nil
}
