package view

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// linkKind is a relation by which accounts are found. Keepers need none of them, customers and agents few, and each
// costs time and memory at a start with hundreds of thousands of accounts: so one is made when it is first asked for,
// and kept from then on.
type linkKind int

const (
	nodesOfProvider linkKind = iota
	leasesOfProvider
	leasesOfCustomer
	ordersOfCustomer
	devicesOfNode
	faultsOf // a node, a provider or a lease
	linkCount
)

// linkKeys lists the keys by which an account is found in a relation; none for accounts of other kinds.
func linkKeys(l linkKind, value any) []solana.PublicKey {
	switch a := value.(type) {
	case *market.Node:
		if l == nodesOfProvider {
			return []solana.PublicKey{a.Node.Provider}
		}
	case *market.Lease:
		switch l {
		case leasesOfProvider:
			return []solana.PublicKey{a.Provider}
		case leasesOfCustomer:
			return []solana.PublicKey{a.Customer}
		}
	case *market.Order:
		if l == ordersOfCustomer {
			return []solana.PublicKey{a.Customer}
		}
	case *market.Device:
		if l == devicesOfNode {
			return []solana.PublicKey{a.Node}
		}
	case *market.Fault:
		if l != faultsOf {
			return nil
		}
		if a.HasLease() {
			return []solana.PublicKey{a.Node, a.Provider, a.Lease}
		}
		return []solana.PublicKey{a.Node, a.Provider}
	}
	return nil
}

// makeLinks makes a relation from the accounts that are here.
func (v *Accounts) makeLinks(l linkKind) {
	v.links[l] = map[solana.PublicKey]set{}
	for key, value := range v.all {
		for _, named := range linkKeys(l, value) {
			link(v.links[l], named, key)
		}
	}
}

func link[K comparable](m map[K]set, k K, key solana.PublicKey) {
	if m[k] == nil {
		m[k] = set{}
	}
	m[k][key] = struct{}{}
}

func unlink[K comparable](m map[K]set, k K, key solana.PublicKey) {
	delete(m[k], key)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}
