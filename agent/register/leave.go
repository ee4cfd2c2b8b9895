package register

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/query"
)

// Change is a new ask or status; zero changes nothing.
type Change struct {
	Price  market.PricePerHour
	Status market.NodeStatus
}

// Update sets the node's ask and status. The provider's wallet signs if it is known, else the machine's key.
// Errors: ErrNotRegistered, *market.Error.
func (c *Commands) Update(ctx context.Context, ch Change) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	node, err := c.node(ctx)
	if err != nil {
		return node, err
	}
	price, status := node.Ask(), node.State()
	if ch.Price != 0 {
		price = ch.Price
	}
	if ch.Status != 0 {
		status = ch.Status
	}
	if status == market.NodeSuspended {
		return node, fmt.Errorf("%s: %w: bring it back with --status active once its faults are settled", node.Address, market.CodeWrongNodeStatus)
	}
	if price == node.Ask() && status == node.State() {
		c.progress("node %s asks %s and is %s already", node.Address, price, status)
		return node, nil
	}
	authority := c.o.NodeKey
	if !c.o.Wallet.IsZero() && node.Provider == market.ProviderAddress(c.o.Wallet) {
		authority = c.o.Wallet
	}
	instruction, err := ix.NodeUpdate(ix.NodeUpdateArgs{Authority: authority, Node: node, Price: price, Status: status})
	if err != nil {
		return node, err
	}
	sig, err := c.submit(ctx, "node_update", authority, instruction)
	if err != nil {
		return node, err
	}
	c.progress("node %s asks %s and is %s   tx %s", node.Address, price, status, sig)
	return query.Fetch[market.Node](ctx, c.o.Chain, node.Address, level)
}

// Retire takes the node out of the market for good. Its leases must be over.
func (c *Commands) Retire(ctx context.Context) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	node, err := c.node(ctx)
	if err != nil {
		return node, err
	}
	if node.State() == market.NodeRetired {
		c.progress("node %s is retired already", node.Address)
		return node, nil
	}
	instruction, err := ix.NodeRetire(ix.NodeRetireArgs{Wallet: c.o.Wallet, Node: node})
	if err != nil {
		return node, err
	}
	sig, err := c.submit(ctx, "node_retire", c.o.Wallet, instruction)
	if err != nil {
		return node, err
	}
	c.progress("node %s is retired; close it with gantry-agent close when its last report is settled   tx %s", node.Address, sig)
	return query.Fetch[market.Node](ctx, c.o.Chain, node.Address, level)
}

// deviceNodeOffset is where a device claim holds its node.
const deviceNodeOffset = 8

// Close closes a retired node and its device claims; rent returns to the wallet. Closing what is closed is no error.
func (c *Commands) Close(ctx context.Context) error {
	if err := c.resume(ctx); err != nil {
		return err
	}
	address := market.NodeAddress(market.ProviderAddress(c.o.Wallet), c.o.NodeKey)
	node, ok, err := query.Find[market.Node](ctx, c.o.Chain, address, level)
	if err != nil {
		return err
	}
	if !ok {
		c.progress("node %s is closed", address)
		return nil
	}
	claims, err := c.claims(ctx, address)
	if err != nil {
		return err
	}
	instruction, err := ix.NodeClose(ix.NodeCloseArgs{Wallet: c.o.Wallet, Node: node, Devices: claims})
	if err != nil {
		return err
	}
	sig, err := c.submit(ctx, "node_close", c.o.Wallet, instruction)
	if err != nil {
		return err
	}
	c.progress("node %s is closed and its rent returned; its stake can be taken back with gantry provider unstake   tx %s", address, sig)
	return nil
}

// claims are the device claims of a node.
func (c *Commands) claims(ctx context.Context, node solana.PublicKey) ([]market.Device, error) {
	accounts, _, err := c.o.Chain.ProgramAccounts(ctx, market.ProgramID, level, chain.Filter{
		DataSize: deviceClaimSize, Offset: deviceNodeOffset, Bytes: node[:],
	})
	if err != nil {
		return nil, err
	}
	var out []market.Device
	for _, a := range accounts {
		d, err := market.Decode(query.MetaOf(a), a.Data)
		if err != nil {
			return nil, err
		}
		if claim, ok := d.Value.(*market.Device); ok && claim.Node == node {
			out = append(out, *claim)
		}
	}
	return out, nil
}
