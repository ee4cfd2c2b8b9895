package daemon

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// facts answers questions about leases: one round for the leases, and one for the customers whose session keys have
// signed.
func (g *Gateway) facts(ctx context.Context, about []grants.Question) ([]grants.Facts, error) {
	keys := make([]solana.PublicKey, len(about))
	for i, q := range about {
		keys[i] = q.Lease
	}
	leases, err := accounts[market.Lease](ctx, g.c.Client, keys)
	if err != nil {
		return nil, err
	}
	out := make([]grants.Facts, len(about))
	var credits []solana.PublicKey
	var of []int
	for i, l := range leases {
		if l == nil {
			continue
		}
		out[i] = grants.Facts{Lease: *l, Found: true, ActsFor: l.Customer == about[i].Signer}
		if !out[i].ActsFor {
			credits, of = append(credits, market.CreditsAddress(l.Customer)), append(of, i)
		}
	}
	found, err := accounts[market.Credits](ctx, g.c.Client, credits)
	if err != nil {
		return nil, err
	}
	for i, c := range found {
		out[of[i]].ActsFor = c != nil && c.ActsFor(about[of[i]].Signer, g.clock.Now())
	}
	return out, nil
}

// leasesOf are the leases of an order.
func (g *Gateway) leasesOf(ctx context.Context, order solana.PublicKey) ([]market.Lease, error) {
	return query.Select[market.Lease](ctx, g.c.Client, query.LeasesOfOrder(order), chain.Confirmed)
}

// accounts reads accounts of a type; what is missing, or something else, is nil.
func accounts[T any](ctx context.Context, c *chain.Client, keys []solana.PublicKey) ([]*T, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	raw, err := c.Accounts(ctx, keys, chain.Confirmed)
	if err != nil {
		return nil, err
	}
	out := make([]*T, len(keys))
	for i, a := range raw {
		if a == nil || a.Owner != market.ProgramID {
			continue
		}
		if d, err := market.Decode(query.MetaOf(*a), a.Data); err == nil {
			out[i], _ = d.Value.(*T)
		}
	}
	return out, nil
}
