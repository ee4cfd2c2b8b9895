package cli

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// A command reads what it shows and no more: other people's accounts cost it nothing.

// only is the scope of all accounts of these kinds.
func only(kinds ...market.Kind) watch.Scope { return view.Only(view.Kinds(kinds...)) }

// mine is the scope of the orders and leases of customers, and of those for which this machine has purchases, with what
// belongs to them.
func (s *session) mine(customers []solana.PublicKey, also ...chain.Filter) watch.Scope {
	f, err := s.folder()
	if err != nil {
		f = nil
	}
	return buy.ScopeOf(f, customers, also...)
}

// named resolves an address prefix to the one account that matches it. Filters are tried in order.
func (s *session) named(text, what string, among ...chain.Filter) (key solana.PublicKey, err error) {
	if key, err = solana.PublicKeyFromBase58(text); err == nil {
		return key, nil
	}
	for _, f := range among {
		all, rpc := s.client.ProgramAddresses(s.ctx, market.ProgramID, s.client.Commitment(), f)
		if watch.Refused(rpc) {
			all, rpc = s.client.ProgramAddresses(s.ctx, market.ProgramID, s.client.Commitment(), chain.Filter{})
		}
		if rpc != nil {
			return key, rpc
		}
		if key, err = pick(text, what, all); err == nil {
			return key, nil
		}
	}
	return key, err
}

// leaseNamed is the address of the lease that a command names; the customer's own come first.
func (s *session) leaseNamed(text string) (solana.PublicKey, error) {
	among := []chain.Filter{query.Kind(market.KindLease)}
	if customer, err := s.customer(); err == nil {
		among = []chain.Filter{query.LeasesOf(customer), among[0]}
	}
	return s.named(text, "lease", among...)
}

// aboutLease is the scope of the lease that a command names, with what belongs to it.
func (s *session) aboutLease(text string, also ...chain.Filter) (watch.Scope, error) {
	key, err := s.leaseNamed(text)
	return view.With(also, key), err
}

// reads shows the accounts of a scope: as they are (snapshot) or as they change (live).
type reads func(watch.Scope) (*view.View, error)

// ownLease is the customer's lease that a command names, in a view of it and of what belongs to it.
func (s *session) ownLease(read reads, text string, also ...chain.Filter) (*view.View, market.Lease, error) {
	scope, err := s.aboutLease(text, also...)
	if err != nil {
		return nil, market.Lease{}, err
	}
	v, err := read(scope)
	if err != nil {
		return nil, market.Lease{}, err
	}
	l, err := s.owned(v, text)
	return v, l, err
}

// listed is the scope of a list: of all accounts of these kinds with --all, else what is the customer's, who is zero with
// --all.
func (s *session) listed(all ...market.Kind) (scope watch.Scope, customer solana.PublicKey, err error) {
	if s.cli.Bool("all") {
		return only(all...), customer, nil
	}
	if _, err = s.market(); err != nil {
		return scope, customer, err
	}
	if customer, err = s.customer(); err != nil {
		return scope, customer, err
	}
	return s.mine([]solana.PublicKey{customer}), customer, nil
}
