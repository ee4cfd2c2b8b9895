package view

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Only is the scope of accounts that pass one of these filters, of those at these addresses and of the market itself.
func Only(filters []chain.Filter, addresses ...solana.PublicKey) watch.Scope {
	addresses = append([]solana.PublicKey{market.MarketAddress()}, addresses...)
	return watch.Scope{Filters: filters, Addresses: func() []solana.PublicKey { return addresses }}
}

// With is the scope of Only, and of the accounts that those lead to: see query.Leads.
func With(filters []chain.Filter, addresses ...solana.PublicKey) watch.Scope {
	s := Only(filters, addresses...)
	s.Leads = query.Leads
	return s
}

// Kinds are the filters for all accounts of these kinds.
func Kinds(kinds ...market.Kind) []chain.Filter {
	out := make([]chain.Filter, len(kinds))
	for i, k := range kinds {
		out[i] = query.Kind(k)
	}
	return out
}
