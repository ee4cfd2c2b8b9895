package view

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Lists are copies, sorted by address unless said otherwise.

// Market returns the market; false while it is not there.
func (v *View) Market() (market.Market, bool) { return get[market.Market](v, market.MarketAddress()) }

// Params returns the parameters in force; false while there is no market.
func (v *View) Params() (market.Params, bool) {
	m, ok := v.Market()
	return m.Params, ok
}

// Model returns a GPU model.
func (v *View) Model(id uint16) (market.Model, bool) {
	return get[market.Model](v, market.ModelAddress(id))
}

// Models returns all GPU models by id.
func (v *View) Models() []market.Model {
	return sorted(v, func(a *Accounts) map[uint16]*market.Model { return a.Models },
		func(a, b market.Model) int { return cmp.Compare(a.Id, b.Id) })
}

// Provider returns the provider at an address.
func (v *View) Provider(address solana.PublicKey) (market.Provider, bool) {
	return get[market.Provider](v, address)
}

// ProviderOf returns the provider with this wallet.
func (v *View) ProviderOf(wallet solana.PublicKey) (market.Provider, bool) {
	return get[market.Provider](v, market.ProviderAddress(wallet))
}

// Providers returns all providers.
func (v *View) Providers() []market.Provider {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Provider { return a.Providers },
		func(a, b market.Provider) int { return byKey(a.Address, b.Address) })
}

// Node returns the node at an address.
func (v *View) Node(address solana.PublicKey) (market.Node, bool) {
	return get[market.Node](v, address)
}

// Nodes returns all nodes.
func (v *View) Nodes() []market.Node {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Node { return a.Nodes },
		func(a, b market.Node) int { return byKey(a.Address, b.Address) })
}

// NodesOf returns the nodes of a provider account.
func (v *View) NodesOf(provider solana.PublicKey) []market.Node {
	return linked[market.Node](v, nodesOfProvider, provider)
}

// NodesByKey returns the nodes whose agent has this key; a key alone may be registered twice.
func (v *View) NodesByKey(key solana.PublicKey) []market.Node {
	return among[market.Node](v, func(a *Accounts) set { return a.NodesOfKey[key] })
}

// DevicesOf returns the device claims of a node.
func (v *View) DevicesOf(node solana.PublicKey) []market.Device {
	return linked[market.Device](v, devicesOfNode, node)
}

// Device returns the claim of a device identity.
func (v *View) Device(identity [32]byte) (market.Device, bool) {
	return get[market.Device](v, market.DeviceAddress(identity))
}

// Keeper returns the keeper at an address.
func (v *View) Keeper(address solana.PublicKey) (market.Keeper, bool) {
	return get[market.Keeper](v, address)
}

// KeeperOf returns the keeper with this wallet.
func (v *View) KeeperOf(wallet solana.PublicKey) (market.Keeper, bool) {
	return get[market.Keeper](v, market.KeeperAddress(wallet))
}

// SignerOf is the key that signs for a keeper; the wallet itself where it is no keeper.
func (v *View) SignerOf(wallet solana.PublicKey) (key solana.PublicKey) {
	v.Read(func(a *Accounts) { key = a.SignerOf(wallet) })
	return key
}

// Keepers returns all keepers by index.
func (v *View) Keepers() []market.Keeper {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Keeper { return a.Keepers },
		func(a, b market.Keeper) int { return cmp.Compare(a.Index, b.Index) })
}

// ActiveKeepers returns the keepers whose weight counts, by index.
func (v *View) ActiveKeepers() []market.Keeper {
	return slices.DeleteFunc(v.Keepers(), func(k market.Keeper) bool { return k.State() != market.KeeperActive })
}

// CreditsOf returns a customer's credits.
func (v *View) CreditsOf(customer solana.PublicKey) (market.Credits, bool) {
	return get[market.Credits](v, market.CreditsAddress(customer))
}

// AllCredits returns the credits of all customers.
func (v *View) AllCredits() []market.Credits {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Credits { return a.Credits },
		func(a, b market.Credits) int { return byKey(a.Address, b.Address) })
}

// Order returns the order at an address.
func (v *View) Order(address solana.PublicKey) (market.Order, bool) {
	return get[market.Order](v, address)
}

// AuctionOf returns the auction of an order.
func (v *View) AuctionOf(order solana.PublicKey) (market.Auction, bool) {
	return get[market.Auction](v, market.AuctionAddress(order))
}

// Auctions returns all auctions.
func (v *View) Auctions() []market.Auction {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Auction { return a.Auctions },
		func(a, b market.Auction) int { return byKey(a.Address, b.Address) })
}

// Orders returns all orders.
func (v *View) Orders() []market.Order {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Order { return a.Orders },
		func(a, b market.Order) int { return byKey(a.Address, b.Address) })
}

// OrdersOf returns the orders of a customer.
func (v *View) OrdersOf(customer solana.PublicKey) []market.Order {
	return linked[market.Order](v, ordersOfCustomer, customer)
}

// Lease returns the lease at an address.
func (v *View) Lease(address solana.PublicKey) (market.Lease, bool) {
	return get[market.Lease](v, address)
}

// Leases returns all leases.
func (v *View) Leases() []market.Lease {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Lease { return a.Leases },
		func(a, b market.Lease) int { return byKey(a.Address, b.Address) })
}

// LeasesOfNode returns the leases of a node account.
func (v *View) LeasesOfNode(node solana.PublicKey) []market.Lease {
	return among[market.Lease](v, func(a *Accounts) set { return a.LeasesOfNode[node] })
}

// LeasesOfOrder returns the leases of an order account.
func (v *View) LeasesOfOrder(order solana.PublicKey) []market.Lease {
	return among[market.Lease](v, func(a *Accounts) set { return a.LeasesOfOrder[order] })
}

// LeasesOfCustomer returns the leases of a customer's wallet.
func (v *View) LeasesOfCustomer(customer solana.PublicKey) []market.Lease {
	return linked[market.Lease](v, leasesOfCustomer, customer)
}

// LeasesOfProvider returns the leases of a provider account.
func (v *View) LeasesOfProvider(provider solana.PublicKey) []market.Lease {
	return linked[market.Lease](v, leasesOfProvider, provider)
}

// Report returns a period's report.
func (v *View) Report(period uint64) (market.Report, bool) {
	return get[market.Report](v, market.ReportAddress(period))
}

// Reports returns all reports by period.
func (v *View) Reports() []market.Report {
	return sorted(v, func(a *Accounts) map[uint64]*market.Report { return a.Reports },
		func(a, b market.Report) int { return cmp.Compare(a.Period, b.Period) })
}

// Fault returns the fault at an address.
func (v *View) Fault(address solana.PublicKey) (market.Fault, bool) {
	return get[market.Fault](v, address)
}

// Faults returns all faults.
func (v *View) Faults() []market.Fault {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Fault { return a.Faults },
		func(a, b market.Fault) int { return byKey(a.Address, b.Address) })
}

// FaultsOf returns the faults of a node, a lease or a provider, by its account.
func (v *View) FaultsOf(account solana.PublicKey) []market.Fault {
	return linked[market.Fault](v, faultsOf, account)
}

// FraudProofs returns all fraud proofs that are not completed.
func (v *View) FraudProofs() []market.FraudProof {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.FraudProof { return a.FraudProofs },
		func(a, b market.FraudProof) int { return byKey(a.Address, b.Address) })
}

// Payouts returns what waits to be paid out of slashes.
func (v *View) Payouts() []market.Payout {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Payout { return a.Payouts },
		func(a, b market.Payout) int { return byKey(a.Address, b.Address) })
}

// Rewards returns the account that says how swept fees are shared; false while there is none.
func (v *View) Rewards() (market.Rewards, bool) {
	return get[market.Rewards](v, market.RewardsAddress())
}

// DisputeOf returns the open dispute of a lease.
func (v *View) DisputeOf(lease solana.PublicKey) (market.Dispute, bool) {
	return get[market.Dispute](v, market.DisputeAddress(lease))
}

// Disputes returns all open disputes, those that close first before the others.
func (v *View) Disputes() []market.Dispute {
	return sorted(v, func(a *Accounts) map[solana.PublicKey]*market.Dispute { return a.Disputes },
		func(a, b market.Dispute) int {
			return cmp.Or(cmp.Compare(a.ClosesAt, b.ClosesAt), byKey(a.Address, b.Address))
		})
}

func byKey(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) }

// get returns a copy of the account at an address when it is of this type.
func get[T any](v *View, key solana.PublicKey) (T, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if p, ok := v.accounts.all[key].(*T); ok {
		return *p, true
	}
	var zero T
	return zero, false
}

// sorted returns copies of all accounts of a kind.
func sorted[K comparable, T any](v *View, of func(*Accounts) map[K]*T, compare func(a, b T) int) []T {
	v.mu.RLock()
	all := of(v.accounts)
	out := make([]T, 0, len(all))
	for _, p := range all {
		out = append(out, *p)
	}
	v.mu.RUnlock()
	slices.SortFunc(out, compare)
	return out
}

// among returns copies of the accounts whose addresses are in a set.
func among[T any](v *View, of func(*Accounts) set) []T {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return copies[T](v.accounts, of(v.accounts))
}

// linked returns copies of the accounts that a relation leads to from a key.
func linked[T any](v *View, l linkKind, key solana.PublicKey) []T {
	v.mu.RLock()
	if v.accounts.links[l] == nil {
		v.mu.RUnlock()
		v.mu.Lock()
		if v.accounts.links[l] == nil {
			v.accounts.makeLinks(l)
		}
		v.mu.Unlock()
		v.mu.RLock()
	}
	defer v.mu.RUnlock()
	return copies[T](v.accounts, v.accounts.links[l][key])
}

func copies[T any](a *Accounts, keys set) []T {
	addresses := make([]solana.PublicKey, 0, len(keys))
	for key := range keys {
		addresses = append(addresses, key)
	}
	slices.SortFunc(addresses, byKey)
	out := make([]T, 0, len(keys))
	for _, key := range addresses {
		if p, ok := a.all[key].(*T); ok {
			out = append(out, *p)
		}
	}
	return out
}
