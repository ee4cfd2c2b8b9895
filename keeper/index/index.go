package index

import (
	"sync"
	"sync/atomic"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/watch"
)

// Index is the live View. It is safe for concurrent use.
type Index struct {
	mu      sync.RWMutex
	view    *View
	known   map[solana.PublicKey]any // what is held at an address: the decoded account
	slot    uint64
	changed chan struct{} // closed and replaced on the first change after somebody took it
	taken   atomic.Bool   // somebody has changed
}

// New returns an empty index.
func New() *Index {
	return &Index{view: NewView(), known: map[solana.PublicKey]any{}, changed: make(chan struct{})}
}

// Apply takes an event of the watcher. An account that does not decode is treated as absent and reported.
func (x *Index) Apply(e watch.Event) error {
	var value any
	var err error
	if !e.Deleted {
		var d market.Decoded
		d, err = market.Decode(market.Meta{Address: e.Pubkey, Slot: e.Slot, Lamports: uint64(e.Lamports)}, e.Data)
		value = d.Value
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slot = max(x.slot, e.Slot)
	x.put(e.Pubkey, value)
	return err
}

// Put sets a decoded account, or removes it when value is nil. It is what Apply does, for chains in memory.
func (x *Index) Put(key solana.PublicKey, value any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(key, value)
}

func (x *Index) put(key solana.PublicKey, value any) {
	if old, ok := x.known[key]; ok {
		x.view.Remove(key, old)
		delete(x.known, key)
	}
	if value == nil {
		delete(x.view.shown, key)
	} else {
		x.known[key] = value
		x.view.Add(key, value)
	}
	if x.taken.Swap(false) { // a start puts hundreds of thousands of accounts that nobody waits for
		close(x.changed)
		x.changed = make(chan struct{})
	}
}

// Read calls f with the view; f must not keep its maps nor change anything. Accounts may be kept: they never change.
func (x *Index) Read(f func(*View)) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	f(x.view)
}

// Slot returns the highest slot seen.
func (x *Index) Slot() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.slot
}

// Changed returns a channel that is closed at the next change. Take it before looking.
func (x *Index) Changed() <-chan struct{} {
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.taken.Store(true) // put is locked out meanwhile
	return x.changed
}

// Add puts a decoded account into the view.
func (v *View) Add(key solana.PublicKey, value any) {
	switch a := value.(type) {
	case *market.Market:
		v.Market = a
	case *market.Model:
		v.Models[a.Id] = a
		v.matcher.PutModel(a.Id, a)
	case *market.Node:
		v.Nodes[key] = a
		if a.ClaimsMissing == 0 {
			delete(v.shown, key)
		}
		link(v.NodesOfModel, a.Spec.Model, key)
		link(v.NodesOfKey, a.NodeKey, key)
		v.matcher.PutNode(key, a)
	case *market.Provider:
		v.Providers[key] = a
		v.matcher.PutProvider(key, a)
	case *market.Keeper:
		v.Keepers[a.Wallet] = a
	case *market.Order:
		v.Orders[key] = a
	case *market.Lease:
		v.Leases[key] = a
		link(v.LeasesOfNode, a.Node, key)
		link(v.LeasesOfOrder, a.Order, key)
	case *market.Report:
		v.Reports[a.Period] = a
	case *market.Fault:
		v.Faults[key] = a
	case *market.Auction:
		v.Auctions[a.Order] = a
	case *market.Rewards:
		v.Rewards = a
	case *market.Dispute:
		v.Disputes[key] = a
	case *market.FraudProof:
		v.FraudProofs[key] = a
	case *market.Credits:
		v.Credits[a.Customer] = a
		for _, k := range a.SessionKeys {
			if k.Cap > 0 {
				link(v.CustomersOfKey, k.Key, a.Customer)
			}
		}
	case *market.Device:
		v.Devices[a.Identity] = a
		v.DevicesOfNode[a.Node]++
	}
}

// Remove takes a decoded account out of the view.
func (v *View) Remove(key solana.PublicKey, value any) {
	switch a := value.(type) {
	case *market.Market:
		v.Market = nil
	case *market.Model:
		delete(v.Models, a.Id)
		v.matcher.RemoveModel(a.Id)
	case *market.Node:
		delete(v.Nodes, key)
		unlink(v.NodesOfModel, a.Spec.Model, key)
		unlink(v.NodesOfKey, a.NodeKey, key)
		v.matcher.RemoveNode(key)
	case *market.Provider:
		delete(v.Providers, key)
		v.matcher.RemoveProvider(key)
	case *market.Keeper:
		delete(v.Keepers, a.Wallet)
	case *market.Order:
		delete(v.Orders, key)
	case *market.Lease:
		delete(v.Leases, key)
		unlink(v.LeasesOfNode, a.Node, key)
		unlink(v.LeasesOfOrder, a.Order, key)
	case *market.Report:
		delete(v.Reports, a.Period)
	case *market.Fault:
		delete(v.Faults, key)
	case *market.Auction:
		delete(v.Auctions, a.Order)
	case *market.Rewards:
		v.Rewards = nil
	case *market.Dispute:
		delete(v.Disputes, key)
	case *market.FraudProof:
		delete(v.FraudProofs, key)
	case *market.Credits:
		delete(v.Credits, a.Customer)
		for _, k := range a.SessionKeys {
			if k.Cap > 0 {
				unlink(v.CustomersOfKey, k.Key, a.Customer)
			}
		}
	case *market.Device:
		delete(v.Devices, a.Identity)
		if v.DevicesOfNode[a.Node]--; v.DevicesOfNode[a.Node] <= 0 {
			delete(v.DevicesOfNode, a.Node)
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
