package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// Buyer acts for the customer. It is safe for concurrent use.
type Buyer interface {
	serve.Buyer
	serve.Clusters
	// Nothing reports whether no order of this name is on chain or can get there, and none was awarded. NothingOf says it of an order.
	Nothing(name string) (bool, error)
	NothingOf(order solana.PublicKey) (bool, error)
	// Bought reports whether an order is one that Buy or ScaleCluster has placed, also in another process.
	Bought(order solana.PublicKey) (bool, error)
	// Exec runs a command in the container of a lease.
	Exec(ctx context.Context, lease solana.PublicKey, r ExecRequest) (ExecResult, error)
}

// WithinBudget buys within a budget. It is made once for a budget: what a server before has left open is looked at.
func WithinBudget(b Buyer, budget *Budget, cost Cost) (Buyer, error) {
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
	asks, err := fingerprint(r)
	if err != nil {
		return serve.Bought{}, err
	}
	if err := b.budget.reserve(name, charge{Request: asks, Amount: amount}); err != nil {
		return serve.Bought{}, err
	}
	bought, err := b.Buyer.Buy(ctx, name, r)
	if err != nil {
		return bought, errors.Join(err, b.nothing(name))
	}
	sum, err := reservedAtAward(bought.Leases, r.Seconds)
	if err != nil {
		return bought, err
	}
	return bought, b.budget.settle(name, max(sum, most))
}

// addedMachines begins the keys of orders of machines for a cluster; no key of a model has a space.
const addedMachines = "machines "

// ScaleCluster implements serve.Clusters: what the order of the machines reserves is counted as that of another purchase. A cluster with
// a budget of its own was counted with all of it.
func (b *budgeted) ScaleCluster(ctx context.Context, text string, nodes int, agree func(buy.Addition) error) (buy.Scaled, error) {
	c, err := b.Cluster(ctx, text)
	if err != nil {
		return buy.Scaled{}, err
	}
	key := ""
	out, err := b.Buyer.ScaleCluster(ctx, c.Order, nodes, func(a buy.Addition) error {
		if agree != nil {
			if err := agree(a); err != nil {
				return err
			}
		}
		keys, err := b.budget.open(c.Order) // what an earlier call has begun may have come to nothing since
		if err == nil {
			err = b.settle(keys)
		}
		if err != nil {
			return err
		}
		key = addedMachines + a.Order.String()
		return b.budget.reserve(key, charge{Amount: a.Reserves, Cluster: c.Order})
	})
	switch {
	case key == "":
		return out, err
	case err != nil:
		return out, errors.Join(err, b.nothing(key))
	}
	sum, err := reservedAtAward(out.Added, out.AddedSeconds)
	if err != nil {
		return out, err
	}
	return out, b.budget.settle(key, sum)
}

// EndCluster implements serve.Clusters: orders that were cancelled count no longer.
func (b *budgeted) EndCluster(ctx context.Context, text string, within time.Duration) (buy.Cluster, error) {
	c, err := b.Buyer.EndCluster(ctx, text, within)
	if err != nil || len(c.Left) > 0 {
		return c, err
	}
	keys, err := b.budget.open(c.Order)
	if err != nil {
		return c, err
	}
	if c.Name != "" {
		keys = append(keys, c.Name)
	}
	return c, b.settle(keys)
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

// reservedAtAward is what the awards of leases of so many seconds reserved.
func reservedAtAward(leases []service.Lease, seconds uint32) (sum market.USDC, err error) {
	for _, l := range leases {
		price, err := market.ParsePrice(l.Price)
		if err != nil {
			return 0, fmt.Errorf("price of lease %s: %w", l.Address, err)
		}
		cost, err := market.Cost(price, l.GPUs, seconds)
		if err != nil {
			return 0, err
		}
		sum += cost
	}
	return sum, nil
}

// nothing releases what a purchase was counted with if it came to nothing.
func (b *budgeted) nothing(key string) error {
	none, err := false, error(nil)
	if text, added := strings.CutPrefix(key, addedMachines); !added {
		none, err = b.Nothing(key)
	} else if order, bad := solana.PublicKeyFromBase58(text); bad == nil {
		none, err = b.NothingOf(order)
	} else {
		err = fmt.Errorf("budget: order %q: %w", text, bad)
	}
	if err != nil || !none {
		return err
	}
	return b.budget.release(key)
}

// settleOpen looks at purchases that a server before left open.
func (b *budgeted) settleOpen() error {
	keys, err := b.budget.open("")
	if err != nil {
		return err
	}
	return b.settle(keys)
}

func (b *budgeted) settle(keys []string) error {
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
		Image: r.Image, AllowSimulated: r.AllowSimulated, Spot: r.Spot,
	}
}
