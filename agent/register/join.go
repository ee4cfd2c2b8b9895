package register

import (
	"context"

	"github.com/gagliardetto/solana-go/programs/system"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// NodeFunds is what the machine's own key gets for its fees, and the level below which it gets it again.
const (
	NodeFunds    = chain.SOL / 20
	nodeFundsLow = chain.SOL / 50
)

// Join is what a machine registers with.
type Join struct {
	// Stake is what the provider's stake shall be at least; 0 for what is needed.
	Stake market.GNT
	// Price of the ask; greater than 0.
	Price   market.PricePerHour
	Spec    market.NodeSpec
	Model   market.Model
	Devices [][32]byte
	// OverClaims registers GPUs that other nodes claim without evidence: the machine waits for its own, see
	// docs/protocol/evidence.md.
	OverClaims bool
}

// Register does what Needs found missing. It may be repeated. The returned node is as the chain has it afterwards.
func (c *Commands) Register(ctx context.Context, j Join) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	n, err := c.Needs(ctx, j)
	if err != nil {
		return market.Node{}, err
	}
	if err := c.Check(n, j); err != nil {
		return market.Node{}, err
	}
	if err := c.becomeProvider(ctx, n); err != nil {
		return market.Node{}, err
	}
	if n.StakeMissing > 0 {
		instruction, err := ix.ProviderStake(ix.ProviderStakeArgs{Wallet: c.o.Wallet, StakeMint: n.Market.StakeMint, Amount: n.StakeMissing})
		if err != nil {
			return market.Node{}, err
		}
		sig, err := c.submit(ctx, "provider_stake", c.o.Wallet, instruction)
		if err != nil {
			return market.Node{}, err
		}
		c.progress("staked %s GNT   tx %s", n.StakeMissing, sig)
	}
	if err := c.fundNode(ctx, n); err != nil {
		return market.Node{}, err
	}
	if n.IsNode {
		c.progress("node %s is registered already; its ask is %s and its status %s", n.Node.Address, n.Node.Ask(), n.Node.State())
		return n.Node, nil
	}
	instruction, err := ix.NodeRegister(ix.NodeRegisterArgs{Wallet: c.o.Wallet, NodeKey: c.o.NodeKey, Spec: j.Spec, Price: j.Price, Devices: j.Devices})
	if err != nil {
		return market.Node{}, err
	}
	sig, err := c.submit(ctx, "node_register", c.o.Wallet, instruction)
	if err != nil {
		return market.Node{}, err
	}
	node, err := query.Fetch[market.Node](ctx, c.o.Chain, market.NodeAddress(market.ProviderAddress(c.o.Wallet), c.o.NodeKey), level)
	if err == nil {
		c.progress("registered node %s at %s USDC per GPU-hour   tx %s", node.Address, node.Ask(), sig)
	}
	return node, err
}

func (c *Commands) becomeProvider(ctx context.Context, n Needs) error {
	if n.IsProvider {
		return nil
	}
	instruction, err := ix.ProviderRegister(ix.ProviderRegisterArgs{Wallet: c.o.Wallet, PaymentMint: n.Market.PaymentMint, StakeMint: n.Market.StakeMint})
	if err != nil {
		return err
	}
	sig, err := c.submit(ctx, "provider_register", c.o.Wallet, ix.CreateTokenAccount(c.o.Wallet, c.o.Wallet, n.Market.PaymentMint), instruction)
	if err == nil {
		c.progress("wallet %s is a provider   tx %s", c.o.Wallet, sig)
	}
	return err
}

// fundNode gives the machine's key what it needs for fees.
func (c *Commands) fundNode(ctx context.Context, n Needs) error {
	if n.NodeFunds == 0 {
		return nil
	}
	sig, err := c.submit(ctx, "fund_node_key", c.o.Wallet,
		system.NewTransferInstruction(uint64(n.NodeFunds), c.o.Wallet, c.o.NodeKey).Build())
	if err == nil {
		c.progress("%s to the machine's key %s for its fees   tx %s", n.NodeFunds, c.o.NodeKey, sig)
	}
	return err
}
