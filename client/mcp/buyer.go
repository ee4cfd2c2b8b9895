package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// Buyer acts for the customer. It is safe for concurrent use.
type Buyer interface {
	serve.Buyer
	serve.Clusters
	// Nothing reports whether no order of this name is on chain or can get there, and none was awarded.
	Nothing(name string) (bool, error)
	// Bought reports whether an order is one that Buy has placed, also in another process.
	Bought(order solana.PublicKey) (bool, error)
	// Exec runs a command in the container of a lease.
	Exec(ctx context.Context, lease solana.PublicKey, r ExecRequest) (ExecResult, error)
}

// WithinBudget buys within a budget. It is made once for a budget: what a server before has left open is looked at.
func WithinBudget(b Buyer, budget *Budget, cost Cost) (serve.Buyer, error) {
	x := &budgeted{b, budget, cost}
	return x, x.settleOpen()
}

// Cost is what an order reserves.
type Cost func(ctx context.Context, r service.QuoteRequest) (market.USDC, error)

// budgeted buys within a budget.
type budgeted struct {
	Buyer
	budget *Budget
	cost   Cost
}

// Buy implements serve.Buyer: what an order reserves is counted before it is sent, and no longer when it came to nothing.
func (b *budgeted) Buy(ctx context.Context, name string, r serve.OrderRequest) (serve.Bought, error) {
	amount, err := b.cost(ctx, quoteOf(r))
	if err != nil {
		return serve.Bought{}, err
	}
	most, err := extensions(&r, amount)
	if err != nil {
		return serve.Bought{}, err
	}
	amount = max(amount, most)
	if err := b.budget.reserve(name, r, amount); err != nil {
		return serve.Bought{}, err
	}
	bought, err := b.Buyer.Buy(ctx, name, r)
	if err != nil {
		return bought, errors.Join(err, b.nothing(name))
	}
	var sum market.USDC
	for _, l := range bought.Leases {
		reserved, err := reservedAtAward(&l, r.Seconds)
		if err != nil {
			return bought, err
		}
		sum += reserved
	}
	return bought, b.budget.settle(name, max(sum, most))
}

// extensions is what an order that is extended until it is stopped may cost, which is counted from the start; 0 for one that is not
// extended.
func extensions(r *serve.OrderRequest, least market.USDC) (market.USDC, error) {
	if !r.UntilStopped {
		return 0, nil
	}
	most, err := market.ParseUSDC(r.Budget)
	if err != nil || most < least {
		return 0, service.Usage(fmt.Sprintf("untilStopped needs a budget of %s USDC or more, which is what the order reserves", least), "set budget, or leave untilStopped out")
	}
	return most, nil
}

// reservedAtAward is what the award of a lease reserved.
func reservedAtAward(l *service.Lease, seconds uint32) (market.USDC, error) {
	price, err := market.ParsePrice(l.Price)
	if err != nil {
		return 0, fmt.Errorf("price of lease %s: %w", l.Address, err)
	}
	return market.Cost(price, l.GPUs, seconds)
}

// nothing releases what a purchase was counted with if it came to nothing.
func (b *budgeted) nothing(name string) error {
	none, err := b.Nothing(name)
	if err != nil || !none {
		return err
	}
	return b.budget.release(name)
}

// settleOpen looks at purchases that a server before left open.
func (b *budgeted) settleOpen() error {
	keys, err := b.budget.open()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := b.nothing(key); err != nil {
			return err
		}
	}
	return nil
}

func quoteOf(r serve.OrderRequest) service.QuoteRequest {
	return service.QuoteRequest{
		GPU: r.GPU, Count: r.Count, Nodes: max(r.Nodes, r.Redundancy), Region: r.Region, MaxPrice: r.MaxPrice, Seconds: r.Seconds,
		Image: r.Image != "", AllowSimulated: r.AllowSimulated,
	}
}
