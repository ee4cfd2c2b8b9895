package roles

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Market is what ForNode needs of the market. *view.View is one.
type Market interface {
	View
	OrdersOf(customer solana.PublicKey) []market.Order
}

// ForNode is the role of a key in a period that ends at end, with what it is to a node.
func ForNode(m Market, node, key solana.PublicKey, end int64) Role {
	var r Role
	customers := []solana.PublicKey{key}
	m.Read(func(v *view.Accounts) {
		r = Of(v, key, end)
		for customer := range v.CustomersOfKey[key] {
			customers = append(customers, customer)
		}
		for lease := range v.LeasesOfNode[node] {
			for _, customer := range customers {
				r.Lease = r.Lease || v.Leases[lease].Customer == customer
			}
		}
	})
	for i := 0; i < len(customers) && !r.Order; i++ {
		for _, o := range m.OrdersOf(customers[i]) {
			r.Order = r.Order || o.State() == market.OrderOpen
		}
	}
	return r
}
