package buy

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// forget removes accounts of registries from purchases whose leases are all over: no machine needs them any more. One that orders
// again for its rest keeps its account until it is over.
func (c *carrier) forget(ctx context.Context, v *view.View, over []market.Lease) {
	all := c.purchases()
	for i := range all {
		p := &all[i]
		of := func(l market.Lease) bool { return l.Order == p.Order }
		if p.RegistryUser == "" || p.Stage != purchase.Handed || !p.Detach || !c.Ours(purchase.NameOf(all, p)) || c.retries(all, p) || !slices.ContainsFunc(over, of) {
			continue
		}
		if slices.ContainsFunc(v.LeasesOfCustomer(c.customer), func(l market.Lease) bool { return of(l) && (l.State() <= market.LeaseRunning || l.CanMigrate()) }) {
			continue
		}
		c.carrying.Go(func() {
			if err := c.forgetAccount(ctx, p.Order); err != nil && ctx.Err() == nil {
				c.log.Warn().Err(err).Stringer("order", p.Order).Msg("the account of the image's registry stays in the record of the purchase")
			}
		})
	}
}

func (c *carrier) forgetAccount(ctx context.Context, order solana.PublicKey) error {
	held, err := c.hold(ctx, order)
	if err != nil {
		return err
	}
	p, err := held.Read()
	if err == nil {
		p.RegistryUser, p.RegistryPass = "", ""
		err = held.Write(p)
	}
	return errors.Join(err, held.Release())
}
