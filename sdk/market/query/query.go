// Package query reads the market once from the chain: the market itself with the checks that a program makes at its
// start, and single accounts. For a copy that stays up to date use package view.
package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Load reads the market and makes sure that this client can work with it: the program is deployed, the market exists,
// its layout is this version's, and it belongs to this cluster.
// Errors: ErrProgramMissing, ErrMarketMissing, ErrProgramMismatch, chain's.
func Load(ctx context.Context, c *chain.Client, at chain.Commitment) (market.Market, error) {
	keys := []solana.PublicKey{market.ProgramID, market.MarketAddress()}
	accounts, err := c.Accounts(ctx, keys, at)
	if err != nil {
		return market.Market{}, err
	}
	program, account := accounts[0], accounts[1]
	if program == nil || !program.Executable {
		return market.Market{}, &market.Error{
			Reason: fmt.Sprintf("the market program %s is not deployed on this cluster", market.ProgramID),
			Advice: "check --url", Kind: market.ErrProgramMissing, Cause: market.ErrProgramMissing,
		}
	}
	if account == nil {
		return market.Market{}, &market.Error{
			Reason: "the market program is there, but no market has been initialised",
			Advice: "check --url; the program's upgrade authority creates one with `gantry market init`",
			Kind:   market.ErrMarketMissing, Cause: market.ErrMarketMissing,
		}
	}
	return checkMarket(ctx, c, *account)
}

func checkMarket(ctx context.Context, c *chain.Client, account chain.Account) (market.Market, error) {
	mismatch := func(cause error) error {
		return &market.Error{
			Reason: market.ErrProgramMismatch.Error(), Advice: "update gantry to the version of the market's program",
			Kind: market.ErrProgramMismatch, Cause: cause,
		}
	}
	if account.Owner != market.ProgramID {
		return market.Market{}, mismatch(fmt.Errorf("the market account belongs to %s", account.Owner))
	}
	d, err := market.Decode(MetaOf(account), account.Data)
	if err != nil {
		return market.Market{}, mismatch(err)
	}
	m, ok := d.Value.(*market.Market)
	if !ok {
		return market.Market{}, mismatch(fmt.Errorf("the market account is a %s", d.Kind))
	}
	domain, err := c.Domain(ctx)
	if err != nil {
		return market.Market{}, err
	}
	if m.Domain != [8]uint8(domain) {
		return market.Market{}, &market.Error{
			Reason: "the market was initialised for another cluster: signatures of this one would be worthless",
			Advice: "check --url", Kind: chain.ErrWrongCluster, Cause: chain.ErrWrongCluster,
		}
	}
	return *m, nil
}

// MetaOf takes the place and slot of an account that was read directly.
func MetaOf(a chain.Account) market.Meta {
	return market.Meta{Address: a.Key, Slot: a.Slot, Lamports: uint64(a.Lamports)}
}

// Fetch reads one account of a type, e.g. Fetch[market.Lease]. Errors: chain.ErrAccountNotFound, ErrUnknownAccount (of
// another type, too), ErrLayout, chain's.
func Fetch[T any](ctx context.Context, c *chain.Client, key solana.PublicKey, at chain.Commitment) (T, error) {
	a, err := c.Account(ctx, key, at)
	if err != nil {
		var zero T
		return zero, err
	}
	return Decode[T](key, a)
}

// FetchTimed is Fetch, with the chain's time in the slot that the account is of. Errors: those of Fetch.
func FetchTimed[T any](ctx context.Context, c *chain.Client, key solana.PublicKey, at chain.Commitment) (v T, when time.Time, err error) {
	got, _, err := c.AccountsSince(ctx, []solana.PublicKey{key, solana.SysVarClockPubkey}, at, 0)
	if err != nil {
		return v, when, err
	}
	for i, of := range []solana.PublicKey{key, solana.SysVarClockPubkey} {
		if got[i] == nil {
			return v, when, fmt.Errorf("%s: %w", of, chain.ErrAccountNotFound)
		}
	}
	if when, err = chain.TimeIn(got[1].Data); err != nil {
		return v, when, err
	}
	v, err = Decode[T](key, *got[0])
	return v, when, err
}

// Decode is an account as a T. Error: market.ErrUnknownAccount.
func Decode[T any](key solana.PublicKey, a chain.Account) (T, error) {
	var zero T
	if a.Owner != market.ProgramID {
		return zero, fmt.Errorf("%s belongs to program %s: %w", key, a.Owner, market.ErrUnknownAccount)
	}
	d, err := market.Decode(MetaOf(a), a.Data)
	if err != nil {
		return zero, err
	}
	v, ok := d.Value.(*T)
	if !ok {
		return zero, fmt.Errorf("%s is a %s account: %w", key, d.Kind, market.ErrUnknownAccount)
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
