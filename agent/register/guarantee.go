package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/query"
)

// ErrGuarantee: the market would refuse the commitment.
var ErrGuarantee = errors.New("not a possible commitment")

// Guarantee is a commitment: for so long from now, with so much uptime in basis points. Zero is the shortest time, and the
// guarantee that a running commitment has.
type Guarantee struct {
	For time.Duration
	BPS uint16
}

// until checks the guarantee and says when it ends; now is the chain's clock.
func (p Guarantee) until(n *market.Node, params *market.Params, now time.Time) (int64, error) {
	shortest := market.Seconds(params.UnstakeCooldownSecs)
	// The first whole period and one that can be counted.
	shortest = max(shortest, market.Seconds(2*params.PeriodSecs))
	if p.For == 0 {
		p.For = shortest + time.Minute // the chain's clock goes on until the transaction is there
	}
	until := now.Add(p.For).Unix()
	switch {
	case p.BPS < market.GuaranteeMinBPS || p.BPS > market.BPS:
		return 0, fmt.Errorf("%w: guarantee 90 to 100 %% of uptime", ErrGuarantee)
	case p.For < shortest:
		return 0, fmt.Errorf("%w: it lasts at least %s", ErrGuarantee, shortest)
	case until > now.Unix()+market.MaxGuaranteeSecs:
		return 0, fmt.Errorf("%w: it lasts at most a year", ErrGuarantee)
	case n.GuaranteedUntil != 0 && (until < n.GuaranteedUntil || p.BPS < n.GuaranteeBps):
		return 0, fmt.Errorf("%w: the node is committed to %d.%02d %% until %s, and a commitment only grows", ErrGuarantee,
			n.GuaranteeBps/100, n.GuaranteeBps%100, time.Unix(n.GuaranteedUntil, 0).UTC().Format(time.RFC3339))
	}
	return until, nil
}

// Commit makes a commitment, or lets a running one grow. The provider's wallet signs. Errors: ErrNotRegistered,
// ErrGuarantee, *market.Error.
func (c *Commands) Commit(ctx context.Context, p Guarantee) (market.Node, error) {
	if err := c.resume(ctx); err != nil {
		return market.Node{}, err
	}
	node, err := c.node(ctx)
	if err != nil {
		return node, err
	}
	m, err := query.Load(ctx, c.Chain, level)
	if err != nil {
		return node, err
	}
	now, err := c.Chain.ClusterTime(ctx, level)
	if err != nil {
		return node, err
	}
	if p.BPS == 0 {
		p.BPS = node.GuaranteeBps
	}
	until, err := p.until(&node, &m.Params, now)
	if err != nil {
		return node, err
	}
	instruction, err := ix.NodeGuarantee(ix.NodeGuaranteeArgs{Wallet: c.Wallet, Node: node, Until: until, GuaranteeBPS: p.BPS})
	if err != nil {
		return node, err
	}
	sig, err := c.submit(ctx, "node_guarantee", c.Wallet, instruction)
	if err != nil {
		return node, err
	}
	c.say("node %s is committed to %d.%02d %% of uptime until %s; below that %d.%02d %% of its stake are lost   tx %s", node.Address,
		p.BPS/100, p.BPS%100, time.Unix(until, 0).UTC().Format(time.RFC3339), m.Params.SlashGuaranteeBps/100, m.Params.SlashGuaranteeBps%100, sig)
	return query.Fetch[market.Node](ctx, c.Chain, node.Address, level)
}
