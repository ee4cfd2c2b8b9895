package command

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// A command reads what it shows and no more: other people's accounts cost it nothing.

// Only is the scope of all accounts of these kinds.
func Only(kinds ...market.Kind) watch.Scope { return view.Only(view.Kinds(kinds...)) }

// Mine is the scope of the orders and leases of customers, and of those for which this machine has purchases, with what
// belongs to them.
func (s *Session) Mine(customers []solana.PublicKey, also ...chain.Filter) watch.Scope {
	f, err := s.Folder()
	if err != nil {
		f = nil
	}
	return buy.ScopeOf(f, customers, also...)
}

// Named resolves an address prefix to the one account that matches it. Filters are tried in order.
func (s *Session) Named(text, what string, among ...chain.Filter) (key solana.PublicKey, err error) {
	if key, err = solana.PublicKeyFromBase58(text); err == nil {
		return key, nil
	}
	for _, f := range among {
		all, rpc := s.Client.ProgramAddresses(s.Context, market.ProgramID, s.Client.Commitment(), f)
		if watch.Refused(rpc) {
			all, rpc = s.Client.ProgramAddresses(s.Context, market.ProgramID, s.Client.Commitment(), chain.Filter{})
		}
		if rpc != nil {
			return key, rpc
		}
		if key, err = service.PickAddress(text, what, all); err == nil {
			return key, nil
		}
	}
	return key, err
}

// LeaseNamed is the address of the lease that a command names, by the name of its purchase, its address or the beginning of that; the
// customer's own come first.
func (s *Session) LeaseNamed(text string) (solana.PublicKey, error) {
	among := []chain.Filter{query.Kind(market.KindLease)}
	if customer, err := s.Customer(); err == nil {
		among = []chain.Filter{query.LeasesOf(customer), among[0]}
	}
	all, _ := s.Purchases() // a reader without a wallet has none
	if orders := buy.Named(all, text); len(orders) > 0 {
		own, err := query.Select[market.Lease](s.Context, s.Client, among[0], s.Client.Commitment())
		if err != nil {
			return solana.PublicKey{}, err
		}
		return buy.LeaseNamed(text, orders, own)
	}
	return s.Named(text, "lease", among...)
}

// Reads shows the accounts of a scope: as they are (Snapshot) or as they change (Live).
type Reads func(watch.Scope) (*view.View, error)

// Lease is the lease that a command names, in a view of it and of what belongs to it.
func (s *Session) Lease(read Reads, text string, also ...chain.Filter) (v *view.View, l market.Lease, err error) {
	key, err := s.LeaseNamed(text)
	if err != nil {
		return nil, l, err
	}
	if v, err = read(view.With(also, key)); err != nil {
		return nil, l, err
	}
	l, err = leaseAt(v, key)
	return v, l, err
}

// OwnLease is the customer's lease that a command names, as Lease has it.
func (s *Session) OwnLease(read Reads, text string, also ...chain.Filter) (*view.View, market.Lease, error) {
	v, l, err := s.Lease(read, text, also...)
	if err == nil {
		err = s.owns(&l)
	}
	return v, l, err
}

func leaseAt(v *view.View, key solana.PublicKey) (market.Lease, error) {
	l, ok := v.Lease(key)
	if !ok {
		return l, service.Refused(fmt.Sprintf("lease %s does not exist (any more)", key), "its history is in: gantry audit "+key.String())
	}
	return l, nil
}

// Listed is the scope of a list: of all accounts of these kinds with --all, else what is the customer's, who is zero with
// --all.
func (s *Session) Listed(all ...market.Kind) (scope watch.Scope, customer solana.PublicKey, err error) {
	if s.CLI.Bool("all") {
		return Only(all...), customer, nil
	}
	if _, err = s.Market(); err != nil {
		return scope, customer, err
	}
	if customer, err = s.Customer(); err != nil {
		return scope, customer, err
	}
	return s.Mine([]solana.PublicKey{customer}), customer, nil
}

// Owned finds a lease of a view by its address, or the beginning of that, which must be the wallet's.
func (s *Session) Owned(v *view.View, text string) (market.Lease, error) {
	key, err := service.PickAddress(text, "lease", Addresses(v.Leases(), func(l market.Lease) solana.PublicKey { return l.Address }))
	if err != nil {
		return market.Lease{}, err
	}
	l, err := leaseAt(v, key)
	if err == nil {
		err = s.owns(&l)
	}
	return l, err
}

func (s *Session) owns(l *market.Lease) error {
	customer, err := s.Customer()
	if err != nil {
		return err
	}
	if l.Customer != customer {
		return service.Refused(fmt.Sprintf("lease %s belongs to %s, not to your wallet %s", l.Address, l.Customer, customer), "pass the customer's keypair with --keypair, or a session key of it with --session")
	}
	return nil
}
