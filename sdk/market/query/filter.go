package query

import (
	"context"
	"encoding/binary"
	"unsafe"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Filters for accounts of the market, so that a node sends those that are asked for and no others. Accounts lie on chain
// as the structs of package bindings lie in memory, after the eight bytes of their discriminator: a test holds it.

func having(kind market.Kind, fields ...chain.Field) chain.Filter {
	d := market.Discriminator(kind)
	return chain.Filter{Prefix: d[:], Fields: fields}
}

func at(offset uintptr, b []byte) chain.Field {
	return chain.Field{Offset: 8 + uint64(offset), Bytes: b}
}

// Kind is all accounts of a kind.
func Kind(kind market.Kind) chain.Filter { return having(kind) }

// NodesWithKey are the nodes of a machine's key; a key alone may be registered twice.
func NodesWithKey(key solana.PublicKey) chain.Filter {
	return having(market.KindNode, at(unsafe.Offsetof(bindings.Node{}.NodeKey), key[:]))
}

// KeepersSignedBy are the keepers for which a key signs.
func KeepersSignedBy(key solana.PublicKey) chain.Filter {
	return having(market.KindKeeper, at(unsafe.Offsetof(bindings.Keeper{}.Signer), key[:]))
}

// NodesOf are the nodes of a provider account.
func NodesOf(provider solana.PublicKey) chain.Filter {
	return having(market.KindNode, at(unsafe.Offsetof(bindings.Node{}.Provider), provider[:]))
}

// NodesOfModel are the nodes with a GPU model.
func NodesOfModel(id uint16) chain.Filter {
	return having(market.KindNode, at(unsafe.Offsetof(bindings.Node{}.Spec)+unsafe.Offsetof(bindings.NodeSpec{}.Model), binary.LittleEndian.AppendUint16(nil, id)))
}

// LeasesAt are the leases of a node account.
func LeasesAt(node solana.PublicKey) chain.Filter {
	return having(market.KindLease, at(unsafe.Offsetof(bindings.Lease{}.Node), node[:]))
}

// LeasesOf are the leases of a customer's wallet.
func LeasesOf(customer solana.PublicKey) chain.Filter {
	return having(market.KindLease, at(unsafe.Offsetof(bindings.Lease{}.Customer), customer[:]))
}

// LeasesServedBy are the leases of a provider account.
func LeasesServedBy(provider solana.PublicKey) chain.Filter {
	return having(market.KindLease, at(unsafe.Offsetof(bindings.Lease{}.Provider), provider[:]))
}

// FaultsOf are the faults of a provider account.
func FaultsOf(provider solana.PublicKey) chain.Filter {
	return having(market.KindFault, at(unsafe.Offsetof(bindings.Fault{}.Provider), provider[:]))
}

// FaultsAt are the faults of a node account.
func FaultsAt(node solana.PublicKey) chain.Filter {
	return having(market.KindFault, at(unsafe.Offsetof(bindings.Fault{}.Node), node[:]))
}

// LeasesOfOrder are the leases of an order.
func LeasesOfOrder(order solana.PublicKey) chain.Filter {
	return having(market.KindLease, at(unsafe.Offsetof(bindings.Lease{}.Order), order[:]))
}

// OrdersOf are the orders of a customer's wallet.
func OrdersOf(customer solana.PublicKey) chain.Filter {
	return having(market.KindOrder, at(unsafe.Offsetof(bindings.Order{}.Customer), customer[:]))
}

// OpenOrders are the orders that wait for awards and take a GPU model: a filter for those that take any model, and one for each
// place at which an order can name this one.
func OpenOrders(model uint16) []chain.Filter {
	var o bindings.Order
	open := at(unsafe.Offsetof(o.Status), []byte{uint8(market.OrderOpen)})
	named := func(place int, id uint16) chain.Filter {
		offset := unsafe.Offsetof(o.Requirement) + unsafe.Offsetof(o.Requirement.Models) + uintptr(place)*unsafe.Sizeof(id)
		return having(market.KindOrder, open, at(offset, binary.LittleEndian.AppendUint16(nil, id)))
	}
	out := []chain.Filter{named(0, 0)}
	for place := range o.Requirement.Models {
		out = append(out, named(place, model))
	}
	return out
}

// DevicesOf are the device claims of a node, without those of its GPUs' keys: the account begins with the node.
func DevicesOf(node solana.PublicKey) chain.Filter {
	const keyAt = 3*32 + 3
	return having(market.KindDevice, at(0, node[:]), at(keyAt, []byte{0}))
}

// PayoutsOf are the payouts of a wallet.
func PayoutsOf(wallet solana.PublicKey) chain.Filter {
	return having(market.KindPayout, at(unsafe.Offsetof(bindings.Payout{}.Beneficiary), wallet[:]))
}

// CreditsNaming are the credits that name a session key, also one that has expired: a filter for each place that it can
// have.
func CreditsNaming(key solana.PublicKey) []chain.Filter {
	var c bindings.Credits
	var out []chain.Filter
	for i := range c.SessionKeys {
		place := unsafe.Offsetof(c.SessionKeys) + uintptr(i)*unsafe.Sizeof(c.SessionKeys[0]) + unsafe.Offsetof(c.SessionKeys[0].Key)
		out = append(out, having(market.KindCredits, at(place, key[:])))
	}
	return out
}

// Select reads the accounts of a type that pass a filter. Accounts that this version does not know are left out.
func Select[T any](ctx context.Context, c *chain.Client, f chain.Filter, at chain.Commitment) ([]T, error) {
	out := []T{}
	_, err := c.Each(ctx, market.ProgramID, at, chain.Lists{Filter: f}, func() { out = out[:0] }, func(a chain.Account) {
		if d, err := market.Decode(MetaOf(a), a.Data); err == nil {
			if v, ok := d.Value.(*T); ok {
				out = append(out, *v)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Leads lists the accounts without which one says little: a lease's node, order, provider, customer's credits and
// dispute, and so on.
func Leads(key solana.PublicKey, data []byte) []solana.PublicKey {
	d, err := market.Decode(market.Meta{Address: key}, data)
	if err != nil {
		return nil
	}
	switch a := d.Value.(type) {
	case *market.Node:
		return []solana.PublicKey{a.Node.Provider, market.ModelAddress(a.Spec.Model)}
	case *market.Order:
		out := []solana.PublicKey{market.CreditsAddress(a.Customer)}
		for _, id := range market.NamedModels(&a.Requirement) {
			out = append(out, market.ModelAddress(id))
		}
		if a.Mode == market.ModeSealed {
			out = append(out, market.AuctionAddress(key))
		}
		return out
	case *market.Lease:
		return []solana.PublicKey{a.Node, a.Order, a.Provider, market.CreditsAddress(a.Customer), market.DisputeAddress(key)}
	case *market.Dispute:
		return []solana.PublicKey{a.Lease}
	}
	return nil
}
