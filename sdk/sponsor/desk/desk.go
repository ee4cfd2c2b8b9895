// Package desk decides what a sponsor's key signs: transactions that use the market, for callers that are known, within a limit a
// day. docs/adr/0052-sponsor.md has the rules and what they leave to an attacker.
package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sponsor"
)

// Chain is what is asked of the chain. *chain.Client implements it.
type Chain interface {
	Accounts(ctx context.Context, keys []solana.PublicKey, at chain.Commitment) ([]*chain.Account, error)
	Simulate(ctx context.Context, tx *solana.Transaction, o chain.SimulateOptions) (chain.Simulation, error)
	MinimumRent(ctx context.Context, size uint64, at chain.Commitment) (chain.Lamports, error)
}

// Options of a Desk; all but Log are required.
type Options struct {
	Key    solana.PrivateKey
	Chain  Chain
	Book   *Book
	Limits Limits
	// MaxFee is the most that the fee of one transaction may be.
	MaxFee chain.Lamports
	Now    func() time.Time
	Log    zerolog.Logger
}

// Caller is who asks.
type Caller struct {
	// Name is whose limit counts. An operator, whose programs ask for many wallets, has none: the limit is each wallet's own.
	Name string
}

// Desk signs with a sponsor's key. It is safe for concurrent use.
type Desk struct {
	o   Options
	key solana.PublicKey
}

// New is a desk for a key.
func New(o Options) *Desk { return &Desk{o: o, key: o.Key.PublicKey()} }

// Key is the key that pays.
func (d *Desk) Key() solana.PublicKey { return d.key }

// Limits are those of a day.
func (d *Desk) Limits() Limits { return d.o.Limits }

// Sign signs a transaction of a caller, and counts it first: also one that never takes effect. Errors: *sponsor.Refusal, those of the
// chain and of the book.
func (d *Desk) Sign(ctx context.Context, who Caller, raw []byte) ([]byte, error) {
	p, err := check(raw, d.key, d.o.MaxFee)
	if err != nil {
		return nil, err
	}
	if err := d.try(ctx, p); err != nil {
		return nil, err
	}
	name := who.Name
	if name == "" {
		name = "wallet " + p.wallet.String()
	}
	if err := d.o.Book.Spend(d.o.Now(), name, p.cost(), d.o.Limits); err != nil {
		return nil, err
	}
	sig, err := d.o.Key.Sign(p.message)
	if err != nil {
		return nil, fmt.Errorf("sign with the sponsor's key: %w", err)
	}
	p.tx.Signatures[0] = sig
	out := append([]byte{byte(len(p.tx.Signatures))}, make([]byte, 0, len(raw))...)
	for _, s := range p.tx.Signatures {
		out = append(out, s[:]...)
	}
	d.o.Log.Info().Str("caller", name).Str("wallet", p.wallet.String()).Str("fee", p.fee.String()).Str("rent", p.transfer.String()).Str("transaction", sig.String()).Msg("the sponsor has signed")
	return append(out, p.message...), nil
}

// try simulates a transaction, and says why its effect is refused.
func (d *Desk) try(ctx context.Context, p *plan) error {
	keys := []solana.PublicKey{d.key, p.wallet}
	for _, k := range p.named {
		if k != p.wallet {
			keys = append(keys, k)
		}
	}
	was, err := d.o.Chain.Accounts(ctx, keys, chain.Processed)
	if err != nil {
		return err
	}
	sim, err := d.o.Chain.Simulate(ctx, p.tx, chain.SimulateOptions{Commitment: chain.Processed, Accounts: keys})
	switch {
	case err != nil:
		return err
	case sim.Err != nil:
		return sponsor.Refused(RuleRuns, "", "the transaction would be refused: %s", sim.Err)
	}
	lamports := func(i int) (before, after chain.Lamports) {
		if was[i] != nil {
			before = was[i].Lamports
		}
		if sim.Accounts[i] != nil {
			after = sim.Accounts[i].Lamports
		}
		return before, after
	}
	if before, after := lamports(0); after+p.cost() < before {
		return sponsor.Refused(RuleCost, "", "the transaction would take %s from the sponsor, and its fee and transfer are %s", before-after, p.cost())
	}
	if p.transfer == 0 {
		return nil
	}
	if before, after := lamports(1); after > before {
		return sponsor.Refused(RuleGain, "ask for what is missing alone, and close accounts in a transaction without a transfer", "the wallet %s would have %s more than before", p.wallet, after-before)
	}
	rent, err := d.rent(ctx, keys[2:], was[2:], sim.Accounts[2:])
	if err != nil {
		return err
	}
	if p.transfer > rent {
		return sponsor.Refused(RuleRent, "", "the sponsor would send %s, and the accounts that the market's instructions make need %s", p.transfer, rent)
	}
	return nil
}

// rent is that of accounts of the market and of tokens that a transaction makes.
func (d *Desk) rent(ctx context.Context, keys []solana.PublicKey, was []*chain.Account, now []*chain.AccountAfter) (sum chain.Lamports, err error) {
	for i := range keys {
		if was[i] != nil || now[i] == nil || now[i].Owner != market.ProgramID && now[i].Owner != solana.TokenProgramID {
			continue
		}
		least, err := d.o.Chain.MinimumRent(ctx, now[i].Space, chain.Processed)
		if err != nil {
			return 0, err
		}
		sum += min(least, now[i].Lamports)
	}
	return sum, nil
}

// refusal is the refusal in an error; nil for none.
func refusal(err error) *sponsor.Refusal {
	var r *sponsor.Refusal
	errors.As(err, &r)
	return r
}
