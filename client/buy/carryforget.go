package buy

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// forget removes secrets from the records of purchases whose leases are all over: the environment of the job, and the account of the
// image's registry. No machine needs them any more. Purchases of a cluster keep theirs until all machines of it are over, because
// machines that are added get them too. A purchase that orders again for its rest ends by that.
func (c *carrier) forget(ctx context.Context, v *view.View, over []market.Lease) {
	all := c.purchases()
	leases := v.LeasesOfCustomer(c.customer)
	for i := range all {
		p := &all[i]
		if p.Stage != purchase.Handed || !hasSecrets(p) || !p.Detach || !c.Ours(purchase.NameOf(all, p)) || c.retries(all, p) {
			continue
		}
		family := purchase.Cluster(all, p.Order)
		of := func(l market.Lease) bool {
			return slices.ContainsFunc(family, func(q purchase.Purchase) bool { return q.Order == l.Order })
		}
		lives := func(l market.Lease) bool { return of(l) && needsJob(&l) }
		begins := func(q purchase.Purchase) bool { return q.Stage != purchase.Handed && q.Stage != purchase.Over }
		if !slices.ContainsFunc(over, of) || slices.ContainsFunc(leases, lives) || slices.ContainsFunc(family, begins) {
			continue
		}
		c.carrying.Go(func() { c.forgetWhenOver(ctx, p.Order, family) })
	}
}

// hasSecrets reports whether a record holds what forget removes.
func hasSecrets(p *purchase.Purchase) bool {
	return p.RegistryUser != "" || (p.Job != nil && len(p.Job.Env) > 0)
}

// forgetTries is how often the chain is asked whether the leases are over. Later the next lease that ends asks.
const forgetTries = 5

func (c *carrier) forgetWhenOver(ctx context.Context, order solana.PublicKey, family []purchase.Purchase) {
	for range forgetTries {
		forgotten, err := c.forgetSecrets(ctx, order, family)
		if forgotten {
			return
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn().Err(err).Stringer("order", order).Msg("the chain does not say whether all leases of a purchase are over, and its record keeps the secrets of the job; it is asked again")
		}
		if wait.For(ctx, lastCarryPause) != nil {
			return
		}
	}
}

// forgetSecrets removes them if all leases of the family are over on chain.
func (c *carrier) forgetSecrets(ctx context.Context, order solana.PublicKey, family []purchase.Purchase) (forgotten bool, err error) {
	held, err := c.hold(ctx, order)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	if over, err := c.allOver(ctx, family); err != nil || !over {
		return false, err
	}
	p, err := held.Read()
	if err != nil {
		return false, err
	}
	withoutSecrets(&p)
	return true, held.Write(p)
}

// withoutSecrets removes what hasSecrets looks for. The keys of outputs of measured guests are no part of the record and stay: the
// customer may read an output also after its lease.
func withoutSecrets(p *purchase.Purchase) {
	p.Registry, p.RegistryUser, p.RegistryPass = "", "", ""
	if p.Job != nil {
		p.Job.Env = nil
	}
}

// allOver reports whether no lease of the purchases can need its job any more. The leases are read before the orders: a move raises
// an order's count of leases in its own transaction, so that a lease that was not seen yet is missed in the count.
func (c *carrier) allOver(ctx context.Context, family []purchase.Purchase) (bool, error) {
	var filters []chain.Filter
	for _, p := range family {
		filters = append(filters, query.LeasesOfOrder(p.Order))
	}
	v, err := c.service.Snapshot(ctx, view.Only(filters))
	if err != nil {
		return false, err
	}
	for _, p := range family {
		o, err := query.Fetch[market.Order](ctx, c.client, p.Order, c.client.Commitment())
		if errors.Is(err, chain.ErrAccountNotFound) { // it is closed after its leases
			continue
		}
		if err != nil {
			return false, err
		}
		leases := v.LeasesOfOrder(p.Order)
		if len(leases) != int(o.LiveLeases) || o.State() == market.OrderOpen || o.State() == market.OrderLapsed {
			return false, nil
		}
		for _, l := range leases {
			if needsJob(&l) || l.Slot > o.Slot { // the node that has answered lags
				return false, nil
			}
		}
	}
	return true, nil
}
