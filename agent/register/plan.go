package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// PlanOptions are the options of NewPlanner. Chain and NodeKey are required.
type PlanOptions struct {
	Chain *chain.Client
	// Wallet is the provider's; zero where only the node's key signs.
	Wallet solana.PublicKey
	// NodeKey is the machine's own key.
	NodeKey solana.PublicKey
}

// Planner finds out what registering a machine takes. It sends nothing.
type Planner struct{ o PlanOptions }

// NewPlanner checks the options.
func NewPlanner(o PlanOptions) (*Planner, error) {
	if o.Chain == nil || o.NodeKey.IsZero() {
		return nil, errors.New("register: chain and node key are required")
	}
	return &Planner{o: o}, nil
}

// Needs is what registering takes, given what is on chain already.
type Needs struct {
	Market     market.Market
	Provider   market.Provider
	IsProvider bool
	Node       market.Node
	IsNode     bool
	// StakeNeeded is the provider's whole stake with this machine; StakeMissing what is to be added.
	StakeNeeded, StakeMissing market.GNT
	// Rent is returned when machine and provider leave; Fees and the node key's funds are not part of it.
	Rent chain.Lamports
	// NodeFunds goes to the machine's key.
	NodeFunds chain.Lamports
	// SOL and Tokens are what the wallet has.
	SOL    chain.Lamports
	Tokens market.GNT
}

// feeReserve covers the fees of a registration many times over.
const feeReserve chain.Lamports = 200_000

// Total is the SOL that the wallet must have.
func (n Needs) Total() chain.Lamports { return n.Rent + n.NodeFunds + feeReserve }

// Needs reads what registering takes. Without a wallet it assumes a new provider.
// Errors: those of query.Load, ErrDeviceClaimed, ErrOtherDevices, chain's.
func (p *Planner) Needs(ctx context.Context, j Join) (Needs, error) {
	var n Needs
	var err error
	if n.Market, err = query.Load(ctx, p.o.Chain, level); err != nil {
		return n, err
	}
	provider := market.ProviderAddress(p.o.Wallet)
	if !p.o.Wallet.IsZero() {
		if n.Provider, n.IsProvider, err = query.Find[market.Provider](ctx, p.o.Chain, provider, level); err != nil {
			return n, err
		}
		if n.Node, n.IsNode, err = query.Find[market.Node](ctx, p.o.Chain, market.NodeAddress(provider, p.o.NodeKey), level); err != nil {
			return n, err
		}
	}
	if err := p.checkDevices(ctx, j, n); err != nil {
		return n, err
	}
	n.StakeNeeded = market.GNT(n.Provider.LockedStake)
	if !n.IsNode {
		n.StakeNeeded += market.GNT(j.Model.MinStake) * market.GNT(j.Spec.Gpus)
	}
	if have, want := market.GNT(n.Provider.Stake), max(n.StakeNeeded, j.Stake); have < want {
		n.StakeMissing = want - have
	}
	if n.Rent, err = p.rent(ctx, n, j); err != nil {
		return n, err
	}
	balance, err := p.o.Chain.Balance(ctx, p.o.NodeKey, level)
	if err != nil {
		return n, err
	}
	if balance < nodeFundsLow {
		n.NodeFunds = NodeFunds - balance
	}
	return n, p.balances(ctx, &n)
}

// checkDevices refuses GPUs that another node holds before anything is paid. For a registered machine it checks only
// that the GPUs are those that were registered: evidence decides about claims that other nodes hold.
func (p *Planner) checkDevices(ctx context.Context, j Join, n Needs) error {
	if n.IsNode {
		if market.DeviceRoot(j.Devices) != n.Node.DeviceRoot {
			return fmt.Errorf("%w than this machine has (%d found, %d registered): retire and close the node, then register it again",
				ErrOtherDevices, len(j.Devices), n.Node.Spec.Gpus)
		}
		return nil
	}
	now, err := p.o.Chain.ClusterTime(ctx, level)
	if err != nil {
		return err
	}
	keys := make([]solana.PublicKey, len(j.Devices))
	for i, d := range j.Devices {
		keys[i] = market.DeviceAddress(d)
	}
	accounts, err := p.o.Chain.Accounts(ctx, keys, level)
	if err != nil {
		return err
	}
	for i, a := range accounts {
		if a == nil || a.Owner != market.ProgramID {
			continue
		}
		d, err := market.Decode(query.MetaOf(*a), a.Data)
		if err != nil {
			return err
		}
		claim, ok := d.Value.(*market.Device)
		switch {
		case !ok:
		case claim.TierAt(now.Unix()) >= 2:
			return fmt.Errorf("%w: node %s holds GPU %d by evidence; retire and close that one first", ErrDeviceClaimed, claim.Node, i)
		case !j.OverClaims:
			return fmt.Errorf("%w: node %s claims GPU %d. If that node is yours, retire and close it first. If it is not, register with "+
				"--over-claims: the machine gets no work until keepers have seen evidence of tier 2", ErrDeviceClaimed, claim.Node, i)
		}
	}
	return nil
}

// Sizes of the accounts that registering creates, bytes, discriminator included.
const (
	tokenAccountSize = 165
	deviceClaimSize  = 8 + 104
)

// rent adds up the deposits of the accounts that do not exist yet.
func (p *Planner) rent(ctx context.Context, n Needs, j Join) (chain.Lamports, error) {
	var sizes []uint64
	add := func(v interface{ Marshal() ([]byte, error) }) error {
		b, err := v.Marshal()
		sizes = append(sizes, uint64(len(b))+8)
		return err
	}
	if !n.IsProvider {
		sizes = append(sizes, tokenAccountSize)
		if err := add(n.Provider.Provider); err != nil {
			return 0, fmt.Errorf("size of a provider account: %w", err)
		}
		payout := market.TokenAddress(p.o.Wallet, n.Market.PaymentMint)
		if _, err := p.o.Chain.Account(ctx, payout, level); errors.Is(err, chain.ErrAccountNotFound) {
			sizes = append(sizes, tokenAccountSize)
		} else if err != nil {
			return 0, err
		}
	}
	if !n.IsNode {
		if err := add(n.Node.Node); err != nil {
			return 0, fmt.Errorf("size of a node account: %w", err)
		}
		for range j.Devices {
			sizes = append(sizes, deviceClaimSize)
		}
	}
	var sum chain.Lamports
	for _, size := range sizes {
		r, err := p.o.Chain.MinimumRent(ctx, size, level)
		if err != nil {
			return 0, err
		}
		sum += r
	}
	return sum, nil
}

// balances reads what the wallet has.
func (p *Planner) balances(ctx context.Context, n *Needs) error {
	if p.o.Wallet.IsZero() {
		return nil
	}
	var err error
	if n.SOL, err = p.o.Chain.Balance(ctx, p.o.Wallet, level); err != nil {
		return err
	}
	amount, err := tokens(ctx, p.o.Chain, market.TokenAddress(p.o.Wallet, n.Market.StakeMint))
	n.Tokens = market.GNT(amount)
	return err
}

// TokenBalance is what an account of the payment token holds; a missing one holds nothing.
func TokenBalance(ctx context.Context, c *chain.Client, account solana.PublicKey) (market.USDC, error) {
	amount, err := tokens(ctx, c, account)
	return market.USDC(amount), err
}

func tokens(ctx context.Context, c *chain.Client, account solana.PublicKey) (uint64, error) {
	a, err := c.Account(ctx, account, level)
	if errors.Is(err, chain.ErrAccountNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return tokenAmount(a.Data), nil
}

// tokenAmount is the amount in a token account's data: after mint and owner.
func tokenAmount(data []byte) uint64 {
	if len(data) < 72 {
		return 0
	}
	var n uint64
	for i := range 8 {
		n |= uint64(data[64+i]) << (8 * i)
	}
	return n
}

// Check says what is missing before anything is sent.
// Errors: ErrNoSOL, ErrNoStake, ErrStakeTooLow, market.ErrAmount.
func (p *Planner) Check(n Needs, j Join) error {
	switch {
	case !n.IsNode && j.Price == 0:
		return fmt.Errorf("%w: a price of 0 is refused by the market; give USDC per GPU-hour such as --price 1.26", market.ErrAmount)
	case j.Stake != 0 && j.Stake < n.StakeNeeded:
		return fmt.Errorf("%w: %s GNT named, %s needed (%s for this machine, the rest for others of this provider); use --stake %s or --stake auto",
			ErrStakeTooLow, j.Stake, n.StakeNeeded, market.GNT(j.Model.MinStake)*market.GNT(j.Spec.Gpus), n.StakeNeeded)
	case n.SOL < n.Total():
		return fmt.Errorf("%w: wallet %s has %s, registering takes %s (of which %s rent comes back); on a test cluster: solana airdrop 1 %s",
			ErrNoSOL, p.o.Wallet, n.SOL, n.Total(), n.Rent, p.o.Wallet)
	case n.Tokens < n.StakeMissing:
		return fmt.Errorf("%w: wallet %s has %s GNT, %s more are needed as stake; send %s GNT to its account for mint %s",
			ErrNoStake, p.o.Wallet, n.Tokens, n.StakeMissing, n.StakeMissing-n.Tokens, n.Market.StakeMint)
	}
	return nil
}
