package service

import (
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// PlacedOrder is an order as it is on chain: what it asks for, how far it is, and its money, USDC.
type PlacedOrder struct {
	Address   string `json:"address"`
	Customer  string `json:"customer"`
	Status    string `json:"status"`
	Model     string `json:"model" doc:"The models of which any will do, such as A or B; any for all"`
	Nodes     uint8  `json:"nodes"`
	Awarded   uint8  `json:"awarded"`
	Leases    uint8  `json:"liveLeases"`
	GPUs      uint8  `json:"gpusPerNode"`
	MaxPrice  string `json:"maxPricePerGpuHour"`
	Seconds   uint32 `json:"seconds"`
	Reserved  string `json:"reserved"`
	CreatedAt int64  `json:"createdAt"`
	Deadline  int64  `json:"awardDeadline"`
}

// DescribeOrder describes an order.
func DescribeOrder(v *view.View, o *market.Order) PlacedOrder {
	return PlacedOrder{
		Address: o.Address.String(), Customer: o.Customer.String(), Status: o.State().String(), Model: NamesOf(ModelsOf(v, &o.Requirement)), Nodes: o.NodesWanted,
		Awarded: o.NodesAwarded, Leases: o.LiveLeases, GPUs: o.GpusPerNode, MaxPrice: market.PricePerHour(o.MaxPrice).String(),
		Seconds: o.DurationSecs, Reserved: market.USDC(o.Order.Reserved).String(), CreatedAt: o.CreatedAt, Deadline: o.AwardDeadline,
	}
}

// Credits is a customer's money, USDC.
type Credits struct {
	Customer string `json:"customer"`
	Balance  string `json:"balance" doc:"Reserved ones included"`
	Reserved string `json:"reserved" doc:"Held by open orders and leases"`
	Free     string `json:"free"`
	Orders   uint32 `json:"liveOrders"`
	Leases   uint32 `json:"liveLeases"`
}

// DescribeCredits describes a customer's money.
func DescribeCredits(c *market.Credits) Credits {
	return Credits{
		Customer: c.Credits.Customer.String(), Balance: market.USDC(c.Balance).String(), Reserved: market.USDC(c.Credits.Reserved).String(),
		Free: c.Free().String(), Orders: c.LiveOrders, Leases: c.LiveLeases,
	}
}
