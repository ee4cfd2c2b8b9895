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
		lives := func(l market.Lease) bool { return of(l) && (l.State() <= market.LeaseRunning || l.CanMigrate()) }
		begins := func(q purchase.Purchase) bool { return q.Stage != purchase.Handed && q.Stage != purchase.Over }
		if !slices.ContainsFunc(over, of) || slices.ContainsFunc(leases, lives) || slices.ContainsFunc(family, begins) {
			continue
		}
		c.carrying.Go(func() {
			if err := c.forgetSecrets(ctx, p.Order); err != nil && ctx.Err() == nil {
				c.log.Warn().Err(err).Stringer("order", p.Order).Msg("the secrets of a job whose leases are over stay in the record of its purchase")
			}
		})
	}
}

// hasSecrets reports whether a record holds what forget removes.
func hasSecrets(p *purchase.Purchase) bool {
	return p.RegistryUser != "" || (p.Job != nil && len(p.Job.Env) > 0)
}

func (c *carrier) forgetSecrets(ctx context.Context, order solana.PublicKey) error {
	held, err := c.hold(ctx, order)
	if err != nil {
		return err
	}
	p, err := held.Read()
	if err == nil {
		p.RegistryUser, p.RegistryPass = "", ""
		if p.Job != nil {
			p.Job.Env = nil
		}
		err = held.Write(p)
	}
	return errors.Join(err, held.Release())
}
