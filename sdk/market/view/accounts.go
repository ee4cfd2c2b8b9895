package view

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Accounts are the market's accounts at one moment. Maps are keyed by account address unless said otherwise.
type Accounts struct {
	Market    *market.Market
	Models    map[uint16]*market.Model
	Nodes     map[solana.PublicKey]*market.Node
	Providers map[solana.PublicKey]*market.Provider
	Keepers   map[solana.PublicKey]*market.Keeper // by wallet
	Orders    map[solana.PublicKey]*market.Order
	Leases    map[solana.PublicKey]*market.Lease
	Reports   map[uint64]*market.Report // by period
	Faults    map[solana.PublicKey]*market.Fault
	Auctions  map[solana.PublicKey]*market.Auction // by order
	Rewards   *market.Rewards
	Disputes  map[solana.PublicKey]*market.Dispute
	// FraudProofs are those that are not completed.
	FraudProofs map[solana.PublicKey]*market.FraudProof
	Payouts     map[solana.PublicKey]*market.Payout
	Credits     map[solana.PublicKey]*market.Credits // by customer's wallet
	Devices     map[[32]byte]*market.Device          // by device identity
	Keys        map[[32]byte]*market.Device          // claims of GPUs' own keys, by the key's hash
	Outages     map[solana.PublicKey]*market.Outage  // by node

	NodesOfModel map[uint16]set
	LeasesOfNode map[solana.PublicKey]set
	// LeasesOfOrder are an order's leases, running or over.
	LeasesOfOrder map[solana.PublicKey]set
	NodesOfKey    map[solana.PublicKey]set // by the agent's key
	// KeepersOfSigner are the wallets of the keepers for which a key signs: one, unless their owner shares it.
	KeepersOfSigner map[solana.PublicKey]set
	// CustomersOfKey are the customers that have named a session key, also one that has expired.
	CustomersOfKey map[solana.PublicKey]set
	// DevicesOfNode counts the device claims of a node.
	DevicesOfNode map[solana.PublicKey]int

	// shown has the devices that nodes with missing claims have shown to be theirs.
	shown map[solana.PublicKey][][32]byte
	// proven has the keys that GPUs of nodes have proven.
	proven map[solana.PublicKey][][32]byte
	// all has every account by its address.
	all map[solana.PublicKey]any
	// links are made when they are first asked for.
	links [linkCount]map[solana.PublicKey]set
}

type set = map[solana.PublicKey]struct{}

// NewAccounts returns an empty set of accounts.
func NewAccounts() *Accounts {
	return &Accounts{
		Models:      map[uint16]*market.Model{},
		Nodes:       map[solana.PublicKey]*market.Node{},
		Providers:   map[solana.PublicKey]*market.Provider{},
		Keepers:     map[solana.PublicKey]*market.Keeper{},
		Orders:      map[solana.PublicKey]*market.Order{},
		Leases:      map[solana.PublicKey]*market.Lease{},
		Reports:     map[uint64]*market.Report{},
		Faults:      map[solana.PublicKey]*market.Fault{},
		Auctions:    map[solana.PublicKey]*market.Auction{},
		Disputes:    map[solana.PublicKey]*market.Dispute{},
		FraudProofs: map[solana.PublicKey]*market.FraudProof{},
		Payouts:     map[solana.PublicKey]*market.Payout{},
		Credits:     map[solana.PublicKey]*market.Credits{},
		Devices:     map[[32]byte]*market.Device{},
		Keys:        map[[32]byte]*market.Device{},
		Outages:     map[solana.PublicKey]*market.Outage{},

		NodesOfModel:    map[uint16]set{},
		LeasesOfNode:    map[solana.PublicKey]set{},
		LeasesOfOrder:   map[solana.PublicKey]set{},
		NodesOfKey:      map[solana.PublicKey]set{},
		KeepersOfSigner: map[solana.PublicKey]set{},
		CustomersOfKey:  map[solana.PublicKey]set{},
		DevicesOfNode:   map[solana.PublicKey]int{},

		shown:  map[solana.PublicKey][][32]byte{},
		proven: map[solana.PublicKey][][32]byte{},
		all:    map[solana.PublicKey]any{},
	}
}

// Put sets the decoded account at an address, or removes it when value is nil. It returns what was there before, or
// nil.
func (v *Accounts) Put(key solana.PublicKey, value any) (before any) {
	before, ok := v.all[key]
	if ok {
		v.remove(key, before)
	}
	switch {
	case value != nil:
		v.all[key] = value
		v.add(key, value)
	case ok:
		delete(v.all, key)
		delete(v.shown, key)
		delete(v.proven, key)
	}
	return before
}

func (v *Accounts) add(key solana.PublicKey, value any) {
	switch a := value.(type) {
	case *market.Market:
		v.Market = a
	case *market.Model:
		v.Models[a.Id] = a
	case *market.Node:
		v.Nodes[key] = a
		if a.ClaimsMissing == 0 {
			delete(v.shown, key)
		}
		link(v.NodesOfModel, a.Spec.Model, key)
		link(v.NodesOfKey, a.NodeKey, key)
	case *market.Provider:
		v.Providers[key] = a
	case *market.Keeper:
		v.Keepers[a.Wallet] = a
		link(v.KeepersOfSigner, a.SigningKey(), a.Wallet)
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
	case *market.Payout:
		v.Payouts[key] = a
	case *market.Credits:
		v.Credits[a.Customer] = a
		for _, k := range a.SessionKeys {
			if k.Cap > 0 {
				link(v.CustomersOfKey, k.Key, a.Customer)
			}
		}
	case *market.Device:
		if a.Key {
			v.Keys[a.Identity] = a
			break
		}
		v.Devices[a.Identity] = a
		v.DevicesOfNode[a.Node]++
	case *market.Outage:
		v.Outages[a.Outage.Node] = a
	}
	for l, of := range v.links {
		if of != nil {
			for _, named := range linkKeys(linkKind(l), value) {
				link(of, named, key)
			}
		}
	}
}

func (v *Accounts) remove(key solana.PublicKey, value any) {
	switch a := value.(type) {
	case *market.Market:
		v.Market = nil
	case *market.Model:
		delete(v.Models, a.Id)
	case *market.Node:
		delete(v.Nodes, key)
		unlink(v.NodesOfModel, a.Spec.Model, key)
		unlink(v.NodesOfKey, a.NodeKey, key)
	case *market.Provider:
		delete(v.Providers, key)
	case *market.Keeper:
		delete(v.Keepers, a.Wallet)
		unlink(v.KeepersOfSigner, a.SigningKey(), a.Wallet)
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
	case *market.Payout:
		delete(v.Payouts, key)
	case *market.Credits:
		delete(v.Credits, a.Customer)
		for _, k := range a.SessionKeys {
			if k.Cap > 0 {
				unlink(v.CustomersOfKey, k.Key, a.Customer)
			}
		}
	case *market.Device:
		if a.Key {
			delete(v.Keys, a.Identity)
			break
		}
		delete(v.Devices, a.Identity)
		if v.DevicesOfNode[a.Node]--; v.DevicesOfNode[a.Node] <= 0 {
			delete(v.DevicesOfNode, a.Node)
		}
	case *market.Outage:
		delete(v.Outages, a.Outage.Node)
	}
	for l, of := range v.links {
		if of != nil {
			for _, named := range linkKeys(linkKind(l), value) {
				unlink(of, named, key)
			}
		}
	}
}
