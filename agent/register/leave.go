package register

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Change is a new ask, spot ask, status, isolation or CUDA; zero changes nothing.
type Change struct {
	Price     market.PricePerHour
	Status    market.NodeStatus
	Isolation *market.Isolation
	CUDA      *market.CUDA
	SpotBPS   *uint16 // of the price, what interruptible work costs; 0 for no such work
}

// Update sets what ch changes. The provider's wallet signs if it is known, else the machine's key. Isolation and CUDA of an
// active node stay as they are. To change them, Update drains the node for a moment. Its leases continue.
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
	// With the status active the program levels the node's stake.
	uneven := status == market.NodeActive && node.Stake != node.RequiredStake+node.ReservedStake
	respecified := (ch.Isolation != nil && *ch.Isolation != market.Isolation(node.Spec.Isolation)) || (ch.CUDA != nil && uint16(*ch.CUDA) != node.Spec.Cuda)
	spot := ch.SpotBPS != nil && *ch.SpotBPS != node.SpotBps
	if price == node.Ask() && status == node.State() && !respecified && !uneven && !spot {
		c.progress("node %s asks %s and is %s already", node.Address, price, status)
		return node, nil
	}
	authority := c.o.NodeKey
	if !c.o.Wallet.IsZero() && node.Provider == market.ProviderAddress(c.o.Wallet) {
		authority = c.o.Wallet
	}
	args := ix.NodeUpdateArgs{Authority: authority, Node: node, Price: price, Status: status, Isolation: ch.Isolation, CUDA: ch.CUDA, SpotBPS: ch.SpotBPS}
	if respecified && node.State() == market.NodeActive {
		drain := args
		drain.Status, drain.Isolation, drain.CUDA = market.NodeDraining, nil, nil
		if _, err := c.update(ctx, drain); err != nil {
			return node, err
		}
	}
	sig, err := c.update(ctx, args)
	if err != nil {
		return node, err
	}
	if node, err = query.Fetch[market.Node](ctx, c.o.Chain, node.Address, level); err == nil {
		c.progress("node %s asks %s, is %s and runs jobs %s   tx %s", node.Address, price, status, howIsolated(market.Isolation(node.Spec.Isolation)), sig)
	}
	return node, err
}

func (c *Commands) update(ctx context.Context, args ix.NodeUpdateArgs) (solana.Signature, error) {
	instruction, err := ix.NodeUpdate(args)
	if err != nil {
		return solana.Signature{}, err
	}
	return c.submit(ctx, "node_update", args.Authority, instruction)
}

// ReportDead reports that a GPU of the machine has died: the node is suspended for 30 days and loses a small part of its
// stake, which is far less than failing the checks costs. The machine's key signs.
func (c *Commands) ReportDead(ctx context.Context) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	node, err := c.node(ctx)
	if err != nil {
		return node, err
	}
	mk, err := query.Load(ctx, c.o.Chain, level)
	if err != nil {
		return node, err
	}
	claims, err := c.claims(ctx, node.Address)
	if err != nil {
		return node, err
	}
	instruction, err := ix.NodeReportDead(ix.NodeReportDeadArgs{Authority: c.o.NodeKey, Node: node, StakeMint: mk.StakeMint, Devices: claims})
	if err != nil {
		return node, err
	}
	sig, err := c.submit(ctx, "node_report_dead", c.o.NodeKey, instruction)
	if err != nil {
		return node, err
	}
	if node, err = query.Fetch[market.Node](ctx, c.o.Chain, node.Address, level); err != nil {
		return node, err
	}
	c.progress("node %s is suspended until %s   tx %s", node.Address, time.Unix(node.DeadUntil, 0).UTC().Format(time.RFC3339), sig)
	return node, nil
}

// Retire takes the node out of the market for good. Its leases must be over.
func (c *Commands) Retire(ctx context.Context) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	node, err := c.retire(ctx)
	if market.Is(err, market.CodeWrongNodeStatus) { // it was convicted after it was read
		node, err = c.retire(ctx)
	}
	return node, err
}

func (c *Commands) retire(ctx context.Context) (market.Node, error) {
	node, err := c.node(ctx)
	if err != nil {
		return node, err
	}
	if node.State() == market.NodeRetired {
		c.progress("node %s is retired already", node.Address)
		return node, nil
	}
	instructions, err := ix.NodeRetire(ix.NodeRetireArgs{Wallet: c.o.Wallet, Node: node})
	if err != nil {
		return node, err
	}
	sig, err := c.submit(ctx, "node_retire", c.o.Wallet, instructions...)
	if err != nil {
		return node, err
	}
	c.progress("node %s is retired; close it with gantry-agent close after its stake's cool-down   tx %s", node.Address, sig)
	return query.Fetch[market.Node](ctx, c.o.Chain, node.Address, level)
}

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
		return c.emptyKey(ctx)
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
	return c.emptyKey(ctx)
}

// emptyKey gives the wallet what is left of the SOL that the machine's key had for fees, unless the key has another node.
func (c *Commands) emptyKey(ctx context.Context) error {
	if c.o.NodeKey == c.o.Wallet {
		return nil
	}
	others, err := NodesByKey(ctx, c.o.Chain, c.o.NodeKey)
	if err != nil || len(others) > 0 {
		return err
	}
	left, err := c.o.Chain.Balance(ctx, c.o.NodeKey, level)
	if err != nil || left == 0 {
		return err
	}
	sig, err := c.submit(ctx, "empty_node_key", c.o.Wallet, system.NewTransferInstruction(uint64(left), c.o.NodeKey, c.o.Wallet).Build())
	if err == nil {
		c.progress("%s of the machine's key are back in the wallet   tx %s", left, sig)
	}
	return err
}

// howIsolated says how a node runs jobs.
func howIsolated(by market.Isolation) string {
	switch by {
	case market.Sandbox:
		return "in containers"
	case market.Volumes:
		return "in containers, with volumes"
	}
	return "as processes"
}

// claims are the device claims of a node.
func (c *Commands) claims(ctx context.Context, node solana.PublicKey) ([]market.Device, error) {
	return query.Select[market.Device](ctx, c.o.Chain, query.DevicesOf(node), level)
}
