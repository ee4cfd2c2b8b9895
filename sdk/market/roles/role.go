// Package roles says what a key is in the market, and what keepers and nodes let it do. Every validator of gossip and
// every handler of requests asks here, so that the rules stand in one place: see [Role.May].
package roles

import (
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Role is what a key is in the market in a period. A key may be several things at once; the zero Role is a stranger's.
type Role struct {
	// Keeper is the status of the keeper whose wallet the key is; 0 when it is none.
	Keeper market.KeeperStatus
	// Weight is the voting weight with which the keeper's records of the period count; 0 when they do not.
	Weight uint64
	// Node: the key is that of a node which is not retired.
	Node bool
	// Customer: the key is a wallet with credits. Session: a customer has named it as a session key.
	Customer, Session bool
	// Lease: the key is that of a customer, or of its session, of a lease of the node that asks. Order: it has an order
	// that waits for awards. Only ForNode says so.
	Lease, Order bool
}

// Stranger reports whether the key takes no part in the market.
func (r Role) Stranger() bool { return r == Role{} }

// String names the parts of a role.
func (r Role) String() string {
	if r.Stranger() {
		return "stranger"
	}
	var parts []string
	if r.Keeper != 0 {
		weight := " without weight"
		if r.Weight > 0 {
			weight = " with weight"
		}
		parts = append(parts, r.Keeper.String()+" keeper"+weight)
	}
	for _, part := range []struct {
		name string
		is   bool
	}{{"node", r.Node}, {"customer", r.Customer}, {"session key", r.Session}, {"customer of this node", r.Lease}, {"customer with an open order", r.Order}} {
		if part.is {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, ", ")
}

// Action is what a key wants to do, or what is to be done with its records.
type Action uint8

const (
	// Connect is to stay connected, and to ask for statements, sets, leaves and peers' addresses.
	Connect Action = iota
	// Gossip is to write messages of the keepers' topics.
	Gossip
	// Ask is to ask for manifests and proposals.
	Ask
	// Challenge is to ask a node for checks.
	Challenge
	// Agree is to take as many bytes out of a keeper as agreeing on reports needs.
	Agree
	// Sign is to have signed statements and manifests that are worth keeping.
	Sign
	// Propose is to propose the report of the period.
	Propose
	// Acknowledge is to have acknowledged bids in a way that other keepers believe.
	Acknowledge
	// LoseBond is to have a bond that a proof would cost, so that proofs against the key are worth keeping.
	LoseBond
	// Deal is to bring jobs to a node, to ask for their output and to sign receipts.
	Deal
	// Visit is to stay connected with a node.
	Visit
)

// May reports whether a key with this role may do something.
func (r Role) May(a Action) bool {
	switch a {
	case Connect:
		return !r.Stranger()
	case Ask:
		return r.Keeper != 0
	case Challenge, Agree:
		// A check costs the node time, work above all; what a keeper without weight states of it counts for nothing.
		return r.Keeper != market.KeeperSlashed && (r.Weight > 0 || r.Keeper == market.KeeperActive)
	case Gossip, Sign, Propose:
		return r.Weight > 0
	case Acknowledge:
		return r.Keeper == market.KeeperActive
	case LoseBond:
		return r.Keeper != 0 && r.Keeper != market.KeeperSlashed
	case Deal:
		return r.Lease || r.Order
	case Visit:
		return r.Lease || r.Order || r.Keeper != 0 && r.Keeper != market.KeeperSlashed
	}
	return false
}

// Of is the role of a key in a period that ends at end, unix seconds.
func Of(v *view.Accounts, key solana.PublicKey, end int64) Role {
	var r Role
	if k, ok := v.Keepers[key]; ok {
		r.Keeper, r.Weight = k.State(), k.WeightAt(end)
	}
	for node := range v.NodesOfKey[key] {
		r.Node = r.Node || v.Nodes[node].State() != market.NodeRetired
	}
	_, r.Customer = v.Credits[key]
	r.Session = len(v.CustomersOfKey[key]) > 0
	return r
}

// View is what a Directory needs of the market.
type View interface {
	Read(func(*view.Accounts))
}

// Options of a Directory; all are required.
type Options struct {
	View       View
	PeriodSecs uint32
}

// Directory looks keys up in the live view of the market. It is safe for concurrent use.
type Directory struct{ o Options }

// New returns a directory. Error: options.ErrMissing.
func New(o Options) (*Directory, error) {
	if err := options.Complete("roles", o); err != nil {
		return nil, err
	}
	return &Directory{o}, nil
}

// Keys are the keys that speak for a keeper about a period: its signer, and the one before it about a period that began
// before the change. It is a records.Keys.
func (d *Directory) Keys(keeper solana.PublicKey, p records.Period) (keys []solana.PublicKey) {
	d.o.View.Read(func(v *view.Accounts) {
		if k, ok := v.Keepers[keeper]; ok {
			keys = k.SignersAt(uint64(p), d.o.PeriodSecs)
		}
	})
	return keys
}

// Role is what the key is in a period. The status of a keeper is the one that the chain shows now; its weight is that
// of the period.
func (d *Directory) Role(key solana.PublicKey, p records.Period) (r Role) {
	d.o.View.Read(func(v *view.Accounts) { r = Of(v, key, int64(p+1)*int64(d.o.PeriodSecs)) })
	return r
}
