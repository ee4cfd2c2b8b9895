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
		v.place(key, before, false)
	}
	switch {
	case value != nil:
		v.all[key] = value
		v.place(key, value, true)
	case ok:
		delete(v.all, key)
		delete(v.shown, key)
		delete(v.proven, key)
	}
	return before
}

// place puts an account where its kind belongs, or takes it out.
func (v *Accounts) place(key solana.PublicKey, value any, in bool) {
	switch a := value.(type) {
	case *market.Market:
		v.Market = only(a, in)
	case *market.Rewards:
		v.Rewards = only(a, in)
	case *market.Model:
		put(v.Models, a.Id, a, in)
	case *market.Node:
		put(v.Nodes, key, a, in)
		relate(v.NodesOfModel, a.Spec.Model, key, in)
		relate(v.NodesOfKey, a.NodeKey, key, in)
		if in && a.ClaimsMissing == 0 {
			delete(v.shown, key)
		}
	case *market.Provider:
		put(v.Providers, key, a, in)
	case *market.Keeper:
		put(v.Keepers, a.Wallet, a, in)
		relate(v.KeepersOfSigner, a.SigningKey(), a.Wallet, in)
	case *market.Order:
		put(v.Orders, key, a, in)
	case *market.Lease:
		put(v.Leases, key, a, in)
		relate(v.LeasesOfNode, a.Node, key, in)
		relate(v.LeasesOfOrder, a.Order, key, in)
	case *market.Report:
		put(v.Reports, a.Period, a, in)
	case *market.Fault:
		put(v.Faults, key, a, in)
	case *market.Auction:
		put(v.Auctions, a.Order, a, in)
	case *market.Dispute:
		put(v.Disputes, key, a, in)
	case *market.FraudProof:
		put(v.FraudProofs, key, a, in)
	case *market.Payout:
		put(v.Payouts, key, a, in)
	case *market.Credits:
		put(v.Credits, a.Customer, a, in)
		for _, k := range a.SessionKeys {
			if k.Cap > 0 {
				relate(v.CustomersOfKey, k.Key, a.Customer, in)
			}
		}
	case *market.Device:
		v.placeDevice(a, in)
	case *market.Outage:
		put(v.Outages, a.Outage.Node, a, in)
	}
	for l, of := range v.links {
		if of != nil {
			for _, named := range linkKeys(linkKind(l), value) {
				relate(of, named, key, in)
			}
		}
	}
}

func (v *Accounts) placeDevice(a *market.Device, in bool) {
	if a.Key {
		put(v.Keys, a.Identity, a, in)
		return
	}
	put(v.Devices, a.Identity, a, in)
	if in {
		v.DevicesOfNode[a.Node]++
	} else if v.DevicesOfNode[a.Node]--; v.DevicesOfNode[a.Node] <= 0 {
		delete(v.DevicesOfNode, a.Node)
	}
}

// only is the account of which there is one, or nil when it is taken out.
func only[T any](a *T, in bool) *T {
	if in {
		return a
	}
	return nil
}

// put sets one entry of a map, or deletes it.
func put[K comparable, V any](of map[K]V, key K, value V, in bool) {
	if in {
		of[key] = value
	} else {
		delete(of, key)
	}
}

// relate makes an account one of those that a key names, or takes it out.
func relate[K comparable](of map[K]set, named K, key solana.PublicKey, in bool) {
	if in {
		link(of, named, key)
	} else {
		unlink(of, named, key)
	}
}
