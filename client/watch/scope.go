package watch

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
)

// Scope names accounts of a program. The zero scope is all of them; what other people have there costs a reader of any
// other scope nothing.
type Scope struct {
	Filters []chain.Filter // accounts that pass any of them
	// Addresses returns single accounts; asked at every snapshot.
	Addresses func() []solana.PublicKey
	// Leads lists the addresses that an account of the scope leads to: they are of the scope as long as it is.
	Leads func(key solana.PublicKey, data []byte) []solana.PublicKey
}

// All reports whether the scope is the whole program.
func (s Scope) All() bool { return s.Filters == nil && s.Addresses == nil }

func (s Scope) addresses() []solana.PublicKey {
	if s.Addresses == nil {
		return nil
	}
	return s.Addresses()
}

func (s Scope) leads(a chain.Account) []solana.PublicKey {
	if s.Leads == nil {
		return nil
	}
	return s.Leads(a.Key, a.Data)
}

func (s Scope) passes(data []byte) bool {
	return s.All() || slices.ContainsFunc(s.Filters, func(f chain.Filter) bool { return f.Matches(data) })
}

// Refused reports whether an endpoint does not serve the calls that a scope needs, as it may still for a whole program.
func Refused(err error) bool {
	const excluded = -32010 // the endpoint has no index for the filter
	return chain.IsCode(err, chain.CodeMethodNotFound) || chain.IsCode(err, chain.CodeInvalidParams) || chain.IsCode(err, excluded)
}

// Read reads the accounts of a scope once, those that lead to others before them, and returns the slot of the oldest
// answer. Where the endpoint refuses filters the error is one that Refused reports.
func Read(ctx context.Context, c *chain.Client, program solana.PublicKey, at chain.Commitment, s Scope) ([]chain.Account, uint64, error) {
	if s.All() {
		return c.ProgramAccounts(ctx, program, at, chain.Filter{})
	}
	var out []chain.Account
	oldest := ^uint64(0)
	wanted := s.addresses()
	seen := map[solana.PublicKey]bool{}
	take := func(a chain.Account) {
		if !seen[a.Key] && a.Owner == program {
			seen[a.Key] = true
			out = append(out, a)
			wanted = append(wanted, s.leads(a)...)
		}
	}
	for _, f := range s.Filters {
		accounts, slot, err := c.ProgramAccounts(ctx, program, at, f)
		if err != nil {
			return nil, 0, err
		}
		oldest = min(oldest, slot)
		for _, a := range accounts {
			take(a)
		}
	}
	asked := map[solana.PublicKey]bool{}
	for len(wanted) > 0 {
		var keys []solana.PublicKey
		for _, k := range wanted {
			if !seen[k] && !asked[k] {
				asked[k] = true
				keys = append(keys, k)
			}
		}
		wanted = nil
		if len(keys) == 0 {
			break
		}
		accounts, slot, err := c.AccountsSince(ctx, keys, at, 0)
		if err != nil {
			return nil, 0, err
		}
		oldest = min(oldest, slot)
		for _, a := range accounts {
			if a != nil {
				take(*a)
			}
		}
	}
	if oldest == ^uint64(0) {
		return nil, 0, errors.New("watch: the scope names no account")
	}
	return out, oldest, nil
}
