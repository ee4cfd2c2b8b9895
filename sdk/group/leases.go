package group

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// lag is how many slots an answer about a group may be behind the newest that any endpoint names.
const lag = 32

// ErrLags: the endpoint that has answered is behind the others.
var ErrLags = errors.New("the RPC node that has answered is behind the chain")

// Leases are those of orders on chain, from a node that is not behind. Errors: ErrLags, those of [view.Snapshot].
func Leases(ctx context.Context, c *chain.Client, orders []solana.PublicKey) (out []market.Lease, err error) {
	slots, err := c.Slots(ctx, c.Commitment())
	if err != nil {
		return nil, err
	}
	var filters []chain.Filter
	for _, o := range orders {
		filters = append(filters, query.LeasesOfOrder(o))
	}
	v := view.New(view.Options{})
	if err := view.Snapshot(ctx, c, v, c.Commitment(), view.Only(filters)); err != nil {
		return nil, err
	}
	for _, o := range orders {
		out = append(out, v.LeasesOfOrder(o)...)
	}
	for i := range out {
		if slices.ContainsFunc(slots, func(s chain.EndpointSlot) bool { return s.Slot > out[i].Slot+lag }) {
			return nil, ErrLags
		}
	}
	return out, nil
}
