package watch

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
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
	got, err := read(ctx, c, program, at, s, nil, func(_ solana.PublicKey, data []byte) []byte { return data })
	return got.accounts, got.slot, err
}

// read is Read that asks the endpoints that avoid names last for lists. same returns what is held already in place of the same data.
func read(
	ctx context.Context, c *chain.Client, program solana.PublicKey, at chain.Commitment, s Scope, avoid []string,
	same func(solana.PublicKey, []byte) []byte,
) (snapshot, error) {
	filters := s.Filters
	if s.All() {
		filters = []chain.Filter{{}}
	}
	r := reading{scope: s, program: program, wanted: s.addresses(), seen: map[solana.PublicKey]bool{}}
	for _, f := range filters {
		before, wanted := len(r.out.accounts), len(r.wanted)
		l, err := c.Each(ctx, program, at, chain.Lists{Filter: f, Avoid: avoid}, func() { r.drop(before, wanted) }, func(a chain.Account) {
			a.Data = same(a.Key, a.Data)
			r.take(a)
		})
		if err != nil {
			return snapshot{}, err
		}
		r.answered(l.Slot, l.By)
		r.out.empty = r.out.empty || l.Accounts == 0
	}
	asked := map[solana.PublicKey]bool{}
	for len(r.wanted) > 0 {
		var keys []solana.PublicKey
		for _, k := range r.wanted {
			if !r.seen[k] && !asked[k] {
				asked[k] = true
				keys = append(keys, k)
			}
		}
		r.wanted = nil
		if len(keys) == 0 {
			break
		}
		if err := r.fetch(ctx, c, keys, at); err != nil {
			return snapshot{}, err
		}
	}
	if r.out.slot == 0 {
		return snapshot{}, errors.New("watch: the scope names no account")
	}
	r.out.seen = r.seen
	return r.out, nil
}

// reading gathers a snapshot.
type reading struct {
	scope   Scope
	program solana.PublicKey
	wanted  []solana.PublicKey // addresses to read yet
	seen    map[solana.PublicKey]bool
	out     snapshot
}

// answered notes the slot of an answer, and who gave a list.
func (r *reading) answered(slot uint64, by string) {
	if r.out.slot == 0 || slot < r.out.slot {
		r.out.slot = slot
	}
	if by != "" && !slices.Contains(r.out.by, by) {
		r.out.by = append(r.out.by, by)
	}
}

// fetch reads single accounts. Those that the scope itself names are missing when two answers say so.
func (r *reading) fetch(ctx context.Context, c *chain.Client, keys []solana.PublicKey, at chain.Commitment) error {
	var named, led []solana.PublicKey
	fixed := map[solana.PublicKey]bool{}
	for _, k := range r.scope.addresses() {
		fixed[k] = true
	}
	for _, k := range keys {
		if fixed[k] {
			named = append(named, k)
		} else {
			led = append(led, k)
		}
	}
	for part := range slices.Chunk(named, maxRead) {
		found, err := c.FindTwice(ctx, part, at, 0)
		if err != nil {
			return err
		}
		r.found(found.Accounts, found.Slot)
	}
	if len(led) == 0 {
		return nil
	}
	accounts, slot, err := c.AccountsSince(ctx, led, at, 0)
	if err == nil {
		r.found(accounts, slot)
	}
	return err
}

func (r *reading) found(accounts []*chain.Account, slot uint64) {
	r.answered(slot, "")
	for _, a := range accounts {
		if a != nil {
			r.take(*a)
		}
	}
}

func (r *reading) take(a chain.Account) {
	if !r.seen[a.Key] && a.Owner == r.program {
		r.seen[a.Key] = true
		r.out.accounts = append(r.out.accounts, a)
		r.wanted = append(r.wanted, r.scope.leads(a)...)
	}
}

// drop forgets what was taken after there were so many accounts, and addresses to read: an endpoint's list was not read to its end.
func (r *reading) drop(accounts, wanted int) {
	for _, a := range r.out.accounts[accounts:] {
		delete(r.seen, a.Key)
	}
	clear(r.out.accounts[accounts:])
	r.out.accounts, r.wanted = r.out.accounts[:accounts], r.wanted[:wanted]
}

// has reports whether an account is in a snapshot.
func (s snapshot) has(key solana.PublicKey) bool {
	return s.seen[key]
}
