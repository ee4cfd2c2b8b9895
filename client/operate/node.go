package operate

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Owns refuses a node that belongs neither to the wallet nor to a provider of it.
func (d *Desk) Owns(n *market.Node) error {
	if n.Node.Provider != market.ProviderAddress(d.Key) && n.NodeKey != d.Key {
		return service.Refused(fmt.Sprintf("node %s does not belong to your wallet %s", n.Address, d.Key), "pass the provider's keypair with --keypair")
	}
	return nil
}

// Terms are what a node asks, for interruptible work too, and whether it takes leases; nil for what stays.
type Terms struct {
	Price   *market.PricePerHour
	SpotBPS *uint16
	Status  *market.NodeStatus
}

// ParseTerms reads terms from texts: USDC per GPU-hour, percent of it for interruptible work, and a status. An empty one stays.
func ParseTerms(price, spot, status string) (t Terms, err error) {
	if price == "" && spot == "" && status == "" {
		return t, service.Usage("nothing to change", "give --price, --spot or --status")
	}
	if price != "" {
		ask, err := market.ParsePrice(price)
		if err != nil {
			return t, err
		}
		if ask == 0 {
			return t, service.Usage("--price is 0", "give a price greater than zero, in USDC per GPU-hour")
		}
		t.Price = &ask
	}
	if spot != "" {
		bps, err := market.ParsePercent(spot)
		if err != nil {
			return t, service.Usage("--spot: "+err.Error(), "")
		}
		t.SpotBPS = &bps
	}
	if status != "" {
		to, err := market.ParseNodeStatus(status)
		if err != nil {
			return t, service.Usage("--status: "+err.Error(), "")
		}
		t.Status = &to
	}
	return t, nil
}

// SetNode sets the terms of a node.
func (d *Desk) SetNode(n *market.Node, t Terms) (Action, error) {
	price, status := n.Ask(), n.State()
	if t.Price != nil {
		price = *t.Price
	}
	if t.Status != nil {
		status = *t.Status
	}
	instruction, err := ix.NodeUpdate(ix.NodeUpdateArgs{
		Authority: d.Key, Node: *n, Price: price, Status: status, SpotBPS: t.SpotBPS,
	})
	asks := price.String() + " USDC per GPU-hour"
	as := *n
	if as.Price = uint64(price); t.SpotBPS != nil {
		as.SpotBps = *t.SpotBPS
	}
	if spot := as.SpotAsk(); spot > 0 {
		asks += ", " + spot.String() + " for interruptible work,"
	}
	return NewAction("node_update", n.Address, fmt.Sprintf("asks %s and is %s", asks, status), instruction, err)
}

// RetireNode takes a node that serves no lease out of the market.
func (d *Desk) RetireNode(n *market.Node) (Action, error) {
	if n.LiveLeases > 0 {
		return Action{}, service.Refused(fmt.Sprintf("node %s serves %s", n.Address, service.Plural(int(n.LiveLeases), "lease")), "drain it first with: gantry node update "+n.Address.String()+" --status draining")
	}
	instructions, err := ix.NodeRetire(ix.NodeRetireArgs{Wallet: d.Key, Node: *n})
	if err != nil {
		return Action{}, err
	}
	return Action{Kind: "node_retire", Of: n.Address, Did: "is retired; close it after the cool-down of its stake", Instructions: instructions}, nil
}

// CloseNode closes a retired node, with its claims of GPUs.
func (d *Desk) CloseNode(ctx context.Context, n *market.Node) (Action, error) {
	claims, err := query.Select[market.Device](ctx, d.Client, query.DevicesOf(n.Address), d.Client.Commitment())
	if err != nil {
		return Action{}, err
	}
	instruction, err := ix.NodeClose(ix.NodeCloseArgs{Wallet: d.Key, Node: *n, Devices: claims})
	return NewAction("node_close", n.Address, "is closed; its rent is back in your wallet, and its stake is free", instruction, err)
}
