package buy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ended are the customer's leases that are over and that this program has not looked at.
func (c *carrier) ended(v *view.View) []market.Lease {
	return slices.DeleteFunc(v.LeasesOfCustomer(c.customer), func(l market.Lease) bool {
		return needsJob(&l) || c.over[lifeOf(&l)]
	})
}

// needsJob reports whether a machine runs the job of a lease, or may get it yet.
func needsJob(l *market.Lease) bool { return l.State() <= market.LeaseRunning || l.CanMigrate() }

// retries reports whether the server orders again where the machine of a purchase leaves.
func (c *carrier) retries(all []purchase.Purchase, p *purchase.Purchase) bool {
	return p.Retry && p.Detach && p.Stage != purchase.Over && c.Ours(purchase.NameOf(all, p))
}

// goOn continues the purchases that follow others, in which a program before was killed.
func (c *carrier) goOn(ctx context.Context) {
	all := c.purchases()
	for i := range all {
		if p := &all[i]; !p.After.IsZero() && p.Stage != purchase.Handed && c.retries(all, p) {
			c.carrying.Go(func() {
				c.often(ctx, p.Order, p.Inspect, func() (*Outcome, error) { return c.resume(ctx, p.Order, false) })
			})
		}
	}
}

// again orders the rest of the time of leases that their machines have left.
func (c *carrier) again(ctx context.Context, over []market.Lease) {
	all := c.purchases()
	for _, l := range over {
		c.over[lifeOf(&l)] = true
		i := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Order == l.Order })
		if i >= 0 && all[i].Stage == purchase.Handed && c.retries(all, &all[i]) {
			c.carrying.Go(func() {
				c.often(ctx, l.Order, all[i].Inspect, func() (*Outcome, error) { return c.againOnce(ctx, l) })
			})
		}
	}
}

// often tries to bring a purchase to its next machine until that is done, or no machine was found in the time for that.
func (c *carrier) often(ctx context.Context, order solana.PublicKey, inspect string, once func() (*Outcome, error)) {
	log := c.log.With().Stringer("order", order).Logger()
	late := time.Now().Add(retryTime)
	for pause := firstCarryPause; ; pause = min(2*pause, lastCarryPause) {
		out, err := once()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && out == nil:
			return
		case err == nil:
			log.Info().Str("now", out.Order).Msg("the machine has left, and the job is on another one by an order for what was left")
			if err := c.Carried(inspect, out.Leases); err != nil {
				log.Warn().Err(err).Msg("a lease is not inspected")
			}
			return
		case errors.Is(err, errNoMachine) || time.Now().After(late):
			log.Error().Err(err).Msg("the machine has left, and no other has the job")
			return
		}
		log.Warn().Err(err).Dur("again in", pause).Msg("the machine has left, and no other has the job yet")
		if wait.For(ctx, pause) != nil {
			return
		}
	}
}

// againOnce orders for what is left of a lease that is over, if its machine has left before the job has ended. It returns nil where
// nothing is to be ordered.
func (c *carrier) againOnce(ctx context.Context, l market.Lease) (*Outcome, error) {
	mk, err := c.market(ctx)
	if err != nil {
		return nil, err
	}
	v, stop, err := c.service.Live(ctx, c.scope(c.customer, view.Kinds(market.KindKeeper, market.KindModel)...))
	if err != nil {
		return nil, err
	}
	defer stop()
	held, err := c.hold(ctx, l.Order)
	if err != nil {
		return nil, err
	}
	p, err := held.Read()
	if err != nil {
		return nil, releasedUnless(nil, held, err)
	}
	if p.Stage == purchase.Over && newest(c.purchases(), l.Order) != l.Order { // a try before this one has ordered, and was cut off
		if err := held.Release(); err != nil {
			return nil, err
		}
		return c.resume(ctx, l.Order, false)
	}
	d := c.dealOf(ctx, v, mk, p, held)
	if err := d.close(d.orderRest(l)); err != nil || d.next == nil {
		return nil, err
	}
	return d.next.runAll()
}

// orderRest ends a purchase that nobody attends, whose lease is over. An order follows it if the machine has left before the job has ended.
func (d *deal) orderRest(l market.Lease) error {
	if d.p.Stage == purchase.Over { // another program has done so
		return nil
	}
	if err := d.dial(); err != nil {
		return err
	}
	if err := d.orderAgain(l, d.statusOver(d.ctx, l, d.lastStatus(d.ctx, l))); err != nil {
		return err
	}
	if err := d.over(true, nil); err != nil {
		return d.abandon(err)
	}
	return nil
}
