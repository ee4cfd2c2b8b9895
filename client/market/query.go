package market

import (
	"bytes"
	"slices"

	"github.com/gagliardetto/solana-go"
)

func sorted(keys keySet) []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(keys))
	for key := range keys {
		out = append(out, key)
	}
	slices.SortFunc(out, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// Lists are sorted by address unless said otherwise.

// Market returns the market; false while it is not there.
func (v *View) Market() (Market, bool) { return get[Market](v, MarketAddress()) }

// Params returns the parameters in force; false while there is no market.
func (v *View) Params() (Params, bool) {
	m, ok := v.Market()
	return m.Params, ok
}

// Model returns a GPU model.
func (v *View) Model(id uint16) (Model, bool) { return get[Model](v, ModelAddress(id)) }

// Models returns all GPU models by id.
func (v *View) Models() []Model {
	models := list[Model](v, KindModel)
	slices.SortFunc(models, func(a, b Model) int { return int(a.Id) - int(b.Id) })
	return models
}

// Provider returns the provider at an address.
func (v *View) Provider(address solana.PublicKey) (Provider, bool) { return get[Provider](v, address) }

// ProviderOf returns the provider with this wallet.
func (v *View) ProviderOf(wallet solana.PublicKey) (Provider, bool) {
	return get[Provider](v, ProviderAddress(wallet))
}

// Providers returns all providers.
func (v *View) Providers() []Provider { return list[Provider](v, KindProvider) }

// Node returns the node at an address.
func (v *View) Node(address solana.PublicKey) (Node, bool) { return get[Node](v, address) }

// Nodes returns all nodes.
func (v *View) Nodes() []Node { return list[Node](v, KindNode) }

// NodesOf returns the nodes of a provider account.
func (v *View) NodesOf(provider solana.PublicKey) []Node {
	return keep(referring[Node](v, KindNode, provider), func(n *Node) bool { return n.Node.Provider == provider })
}

// NodesByKey returns the nodes whose agent has this key; a key alone may be registered twice.
func (v *View) NodesByKey(key solana.PublicKey) []Node {
	return keep(referring[Node](v, KindNode, key), func(n *Node) bool { return n.NodeKey == key })
}

// DevicesOf returns the device claims of a node.
func (v *View) DevicesOf(node solana.PublicKey) []Device {
	return referring[Device](v, KindDevice, node)
}

// Device returns the claim of a device identity.
func (v *View) Device(identity [32]byte) (Device, bool) {
	return get[Device](v, DeviceAddress(identity))
}

// Keeper returns the keeper at an address.
func (v *View) Keeper(address solana.PublicKey) (Keeper, bool) { return get[Keeper](v, address) }

// KeeperOf returns the keeper with this wallet.
func (v *View) KeeperOf(wallet solana.PublicKey) (Keeper, bool) {
	return get[Keeper](v, KeeperAddress(wallet))
}

// Keepers returns all keepers by index.
func (v *View) Keepers() []Keeper {
	keepers := list[Keeper](v, KindKeeper)
	slices.SortFunc(keepers, func(a, b Keeper) int { return int(a.Index) - int(b.Index) })
	return keepers
}

// ActiveKeepers returns the keepers whose weight counts, by index.
func (v *View) ActiveKeepers() []Keeper {
	return keep(v.Keepers(), func(k *Keeper) bool { return k.State() == KeeperActive })
}

// CreditsOf returns a customer's money.
func (v *View) CreditsOf(customer solana.PublicKey) (Credits, bool) {
	return get[Credits](v, CreditsAddress(customer))
}

// AllCredits returns the money of all customers.
func (v *View) AllCredits() []Credits { return list[Credits](v, KindCredits) }

// Order returns the order at an address.
func (v *View) Order(address solana.PublicKey) (Order, bool) { return get[Order](v, address) }

// AuctionOf returns the auction of an order.
func (v *View) AuctionOf(order solana.PublicKey) (Auction, bool) {
	return get[Auction](v, AuctionAddress(order))
}

// Auctions returns all auctions.
func (v *View) Auctions() []Auction { return list[Auction](v, KindAuction) }

// Orders returns all orders.
func (v *View) Orders() []Order { return list[Order](v, KindOrder) }

// OrdersOf returns the orders of a customer.
func (v *View) OrdersOf(customer solana.PublicKey) []Order {
	return referring[Order](v, KindOrder, customer)
}

// Lease returns the lease at an address.
func (v *View) Lease(address solana.PublicKey) (Lease, bool) { return get[Lease](v, address) }

// Leases returns all leases.
func (v *View) Leases() []Lease { return list[Lease](v, KindLease) }

// LeasesOfNode returns the leases of a node account.
func (v *View) LeasesOfNode(node solana.PublicKey) []Lease {
	return keep(referring[Lease](v, KindLease, node), func(l *Lease) bool { return l.Node == node })
}

// LeasesOfOrder returns the leases of an order account.
func (v *View) LeasesOfOrder(order solana.PublicKey) []Lease {
	return keep(referring[Lease](v, KindLease, order), func(l *Lease) bool { return l.Order == order })
}

// LeasesOfCustomer returns the leases of a customer's wallet.
func (v *View) LeasesOfCustomer(customer solana.PublicKey) []Lease {
	return keep(referring[Lease](v, KindLease, customer), func(l *Lease) bool { return l.Customer == customer })
}

// LeasesOfProvider returns the leases of a provider account.
func (v *View) LeasesOfProvider(provider solana.PublicKey) []Lease {
	return keep(referring[Lease](v, KindLease, provider), func(l *Lease) bool { return l.Provider == provider })
}

// Report returns a period's report.
func (v *View) Report(period uint64) (Report, bool) { return get[Report](v, ReportAddress(period)) }

// Reports returns all reports by period.
func (v *View) Reports() []Report {
	reports := list[Report](v, KindReport)
	slices.SortFunc(reports, func(a, b Report) int {
		switch {
		case a.Period < b.Period:
			return -1
		case a.Period > b.Period:
			return 1
		}
		return 0
	})
	return reports
}

// Fault returns the fault at an address.
func (v *View) Fault(address solana.PublicKey) (Fault, bool) { return get[Fault](v, address) }

// FraudProofs are the proofs of bad work that are half made.
func (v *View) FraudProofs() []FraudProof { return list[FraudProof](v, KindFraudProof) }

// Faults returns all faults.
func (v *View) Faults() []Fault { return list[Fault](v, KindFault) }

// FaultsOf returns the faults of a node, a lease or a provider, by its account.
func (v *View) FaultsOf(account solana.PublicKey) []Fault {
	return referring[Fault](v, KindFault, account)
}

func keep[T any](all []T, cond func(*T) bool) []T {
	out := all[:0]
	for i := range all {
		if cond(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}
