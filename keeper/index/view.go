package index

import (
	"bytes"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/keeper/match"
)

// View is the market at one moment. Maps are keyed by account address unless said otherwise.
type View struct {
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
	// FraudProofs are proofs of bad work that are half made.
	FraudProofs map[solana.PublicKey]*market.FraudProof
	Credits     map[solana.PublicKey]*market.Credits // by customer's wallet
	Devices     map[[32]byte]*market.Device          // by device identity

	NodesOfModel map[uint16]set
	LeasesOfNode map[solana.PublicKey]set
	// LeasesOfOrder are an order's leases, running or over.
	LeasesOfOrder map[solana.PublicKey]set
	NodesOfKey    map[solana.PublicKey]set // by the agent's key
	// CustomersOfKey are the customers that have named a session key, also one that is over.
	CustomersOfKey map[solana.PublicKey]set
	// DevicesOfNode counts the device claims of a node.
	DevicesOfNode map[solana.PublicKey]int

	// shown is what nodes that miss claims have shown as their devices.
	shown   map[solana.PublicKey][][32]byte
	matcher *match.Matcher
}

type set = map[solana.PublicKey]struct{}

// NewView returns an empty view.
func NewView() *View {
	return &View{
		Models:       map[uint16]*market.Model{},
		Nodes:        map[solana.PublicKey]*market.Node{},
		Providers:    map[solana.PublicKey]*market.Provider{},
		Keepers:      map[solana.PublicKey]*market.Keeper{},
		Orders:       map[solana.PublicKey]*market.Order{},
		Leases:       map[solana.PublicKey]*market.Lease{},
		Reports:      map[uint64]*market.Report{},
		Faults:       map[solana.PublicKey]*market.Fault{},
		Auctions:     map[solana.PublicKey]*market.Auction{},
		Disputes:     map[solana.PublicKey]*market.Dispute{},
		FraudProofs:  map[solana.PublicKey]*market.FraudProof{},
		Credits:      map[solana.PublicKey]*market.Credits{},
		Devices:      map[[32]byte]*market.Device{},
		NodesOfModel: map[uint16]set{},
		LeasesOfNode: map[solana.PublicKey]set{},
		NodesOfKey:   map[solana.PublicKey]set{},

		CustomersOfKey: map[solana.PublicKey]set{},

		LeasesOfOrder: map[solana.PublicKey]set{},
		DevicesOfNode: map[solana.PublicKey]int{},

		shown:   map[solana.PublicKey][][32]byte{},
		matcher: match.New(),
	}
}

// Matcher finds nodes for orders. It follows the view.
func (v *View) Matcher() *match.Matcher { return v.matcher }

// Params returns the market's parameters; false before the market is known.
func (v *View) Params() (market.Params, bool) {
	if v.Market == nil {
		return market.Params{}, false
	}
	return v.Market.Params, true
}

// Weights returns the voting weight of every keeper whose statements count for a period that ends at end (unix seconds): it
// was active then. That some of them leave or are expelled later changes nothing, so that everyone comes to the same report
// whenever they look.
func (v *View) Weights(end int64) map[solana.PublicKey]uint64 {
	out := make(map[solana.PublicKey]uint64, len(v.Keepers))
	for wallet, k := range v.Keepers {
		if weight := k.WeightAt(end); weight > 0 {
			out[wallet] = weight
		}
	}
	return out
}

// ActiveKeepers returns the wallets of all active keepers.
func (v *View) ActiveKeepers() []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(v.Keepers))
	for wallet, k := range v.Keepers {
		if k.State() == market.KeeperActive {
			out = append(out, wallet)
		}
	}
	return out
}

// RunningLeases returns a node's leases that run, in one order.
func (v *View) RunningLeases(node solana.PublicKey) []*market.Lease {
	var out []*market.Lease
	for key := range v.LeasesOfNode[node] {
		if l := v.Leases[key]; l.State() == market.LeaseRunning {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *market.Lease) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	return out
}

// Voted returns the root that the keeper with this index has voted for in a period.
func (v *View) Voted(period uint64, index uint16) (root [32]byte, voted bool) {
	r, ok := v.Reports[period]
	if !ok || !r.Voted(index) {
		return root, false
	}
	for _, c := range r.Roots() {
		if market.Has(c.Voters, index) {
			return c.Root, true
		}
	}
	return root, false
}

// Tier is what a report of a period that ends then says about a node's evidence, if it was not checked: 0 for simulated
// GPUs, else what stands.
func (v *View) Tier(node solana.PublicKey, end int64) uint8 {
	n, ok := v.Nodes[node]
	if !ok || n.Spec.Simulated == 1 {
		return 0
	}
	return n.TierAt(end)
}

// KnownPeer reports whether a key belongs to somebody whom a keeper talks to: a keeper's wallet, a live node's key, or
// a customer with Credits, by its wallet or a session key.
func (v *View) KnownPeer(key solana.PublicKey) bool {
	if _, ok := v.Keepers[key]; ok {
		return true
	}
	for node := range v.NodesOfKey[key] {
		if v.Nodes[node].State() != market.NodeRetired {
			return true
		}
	}
	_, customer := v.Credits[key]
	return customer || len(v.CustomersOfKey[key]) > 0
}
