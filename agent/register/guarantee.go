package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// ErrGuarantee: the market would refuse the uptime guarantee.
var ErrGuarantee = errors.New("the uptime guarantee is not possible")

// Guarantee is an uptime guarantee: for so long from now, so much uptime in basis points. Zero is the shortest time,
// and the uptime of the guarantee that the node has.
type Guarantee struct {
	For time.Duration
	BPS uint16
}

// until checks the guarantee and says when it ends; now is the chain's clock.
func (g Guarantee) until(n *market.Node, params *market.Params, now time.Time) (int64, error) {
	shortest := market.Seconds(params.UnstakeCooldownSecs)
	// The first whole period and one that can be counted.
	shortest = max(shortest, market.Seconds(2*params.PeriodSecs))
	if g.For == 0 {
		g.For = shortest + time.Minute // the chain's clock advances until the transaction lands
	}
	until := now.Add(g.For).Unix()
	switch {
	case g.BPS < market.GuaranteeMinBPS || g.BPS > market.BPS:
		return 0, fmt.Errorf("%w: the uptime must be 90 to 100 %%", ErrGuarantee)
	case g.For < shortest:
		return 0, fmt.Errorf("%w: it must last at least %s", ErrGuarantee, shortest)
	case until > now.Unix()+market.MaxGuaranteeSecs:
		return 0, fmt.Errorf("%w: it must last at most a year", ErrGuarantee)
	case n.GuaranteedUntil != 0 && (until < n.GuaranteedUntil || g.BPS < n.GuaranteeBps):
		return 0, fmt.Errorf("%w: the node guarantees %d.%02d %% until %s, and a guarantee may only grow", ErrGuarantee,
			n.GuaranteeBps/100, n.GuaranteeBps%100, time.Unix(n.GuaranteedUntil, 0).UTC().Format(time.RFC3339))
	}
	return until, nil
}

// Guarantee gives an uptime guarantee, or extends the node's. The provider's wallet signs. Errors: ErrNotRegistered,
// ErrGuarantee, *market.Error.
func (c *Commands) Guarantee(ctx context.Context, g Guarantee) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	node, err := c.node(ctx)
	if err != nil {
		return node, err
	}
	m, err := query.Load(ctx, c.o.Chain, level)
	if err != nil {
		return node, err
	}
	now, err := c.o.Chain.ClusterTime(ctx, level)
	if err != nil {
		return node, err
	}
	if g.BPS == 0 {
		g.BPS = node.GuaranteeBps
	}
	until, err := g.until(&node, &m.Params, now)
	if err != nil {
		return node, err
	}
	instruction, err := ix.NodeGuarantee(ix.NodeGuaranteeArgs{Wallet: c.o.Wallet, Node: node, Until: until, GuaranteeBPS: g.BPS})
	if err != nil {
		return node, err
	}
	sig, err := c.submit(ctx, "node_guarantee", c.o.Wallet, instruction)
	if err != nil {
		return node, err
	}
	c.progress("node %s guarantees %d.%02d %% of uptime until %s; below that it loses %d.%02d %% of its stake   tx %s", node.Address,
		g.BPS/100, g.BPS%100, time.Unix(until, 0).UTC().Format(time.RFC3339), m.Params.SlashGuaranteeBps/100, m.Params.SlashGuaranteeBps%100, sig)
	return query.Fetch[market.Node](ctx, c.o.Chain, node.Address, level)
}
