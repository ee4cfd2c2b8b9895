package buy

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Resumable is a purchase that can be continued.
type Resumable struct {
	Order   string `json:"order"`
	Name    string `json:"name,omitempty"`
	Created int64  `json:"createdAt"`
	Stage   string `json:"stage"`
	State   string `json:"state"`
	Busy    bool   `json:"attended,omitempty"` // another command works on it
}

// Resumables are the purchases of a folder that can be continued.
func Resumables(f *purchase.Folder, all []purchase.Purchase, v *view.View) ([]Resumable, error) {
	out := []Resumable{}
	for _, p := range all {
		if p.Stage == purchase.Over {
			continue
		}
		r := Resumable{Order: p.Order.String(), Name: p.Name, Created: p.Created.Unix(), Stage: string(p.Stage), State: Standing(v, &p)}
		held, err := f.Hold(p.Order)
		if r.Busy = errors.Is(err, purchase.ErrHeld); !r.Busy {
			if err != nil {
				return nil, err
			}
			if err := held.Release(); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// SoFar is the order of the latest purchase of a name, and its leases, which may not run yet. The order is zero where nothing was stored
// of such a purchase.
func (b *Buyer) SoFar(ctx context.Context, name string) (order solana.PublicKey, leases []service.Lease, err error) {
	all := b.purchases()
	at := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Name == name })
	if at < 0 {
		return order, nil, nil
	}
	leases, err = b.service.Leases(ctx, all[at].Args.Customer)
	order = all[at].Order
	return order, slices.DeleteFunc(leases, func(l service.Lease) bool { return l.Order != order.String() }), err
}

// PickPurchase finds the order of a purchase by its name, its order's address, or the beginning of that.
func PickPurchase(all []purchase.Purchase, text string) (solana.PublicKey, error) {
	orders := make([]solana.PublicKey, len(all))
	for i, p := range all { // the latest attempt first
		if p.Name != "" && p.Name == text {
			return p.Order, nil
		}
		orders[i] = p.Order
	}
	return service.PickAddress(text, "order", orders)
}

// Order is an order, and the purchase that this machine has of it.
type Order struct {
	service.PlacedOrder
	Name   string `json:"name,omitempty"`
	Resume string `json:"resume,omitempty"` // where the command is that died, if this machine has its record
}

// WithPurchases adds purchases to a list of orders, and those whose order is not on chain.
func WithPurchases(v *view.View, orders []Order, all []purchase.Purchase) []Order {
	at := map[string]int{}
	for i, o := range orders {
		at[o.Address] = i
	}
	for _, p := range all {
		i, listed := at[p.Order.String()]
		switch {
		case p.Stage == purchase.Over:
			continue
		case listed:
			orders[i].Name, orders[i].Resume = p.Name, Standing(v, &p)
		case p.Stage == purchase.Intended:
			orders = append(orders, Order{Name: p.Name, Resume: Standing(v, &p), PlacedOrder: service.PlacedOrder{
				Address: p.Order.String(), Customer: p.Args.Customer.String(), Status: "not sent", Model: service.NamesOf(service.ModelsOf(v, &p.Args.Requirement)), Nodes: p.Args.Nodes, GPUs: p.Args.GPUsPerNode,
				MaxPrice: p.Args.MaxPrice.String(), Seconds: p.Args.Duration, Reserved: market.USDC(0).String(), CreatedAt: p.Created.Unix(),
			}})
		}
	}
	return orders
}

// Forget ends the record of an order that was taken back, unless another process has it: that one sees the end of the order.
func Forget(f *purchase.Folder, order solana.PublicKey) error {
	held, err := f.Hold(order)
	if err != nil {
		return nil
	}
	defer held.Release()
	p, err := held.Read()
	if err != nil {
		return nil
	}
	p.End(service.CodeRefused, "the order was cancelled", nil)
	return held.Write(p)
}
