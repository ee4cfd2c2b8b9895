package buy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Pauses between tries to bring a job to its next machine, and to follow the chain.
const firstCarryPause, lastCarryPause = time.Second, 30 * time.Second

// errNotSeen: the purchase does not see the lease yet.
var errNotSeen = errors.New("the lease is not seen yet")

// Attending says which purchases a server attends.
type Attending struct {
	// Ours reports whether the server has bought under a name.
	Ours func(name string) bool
	// Carried is told of leases whose jobs were brought to their machines, with what their purchase says of inspections. Calls may
	// overlap.
	Carried func(inspect string, leases []service.Lease) error
}

// Attend follows the leases of detached purchases until ctx ends or end is called, which waits. It extends those of a purchase that
// says UntilStopped, and orders again for one that says Retry. Where a machine fails and keepers move a lease, it brings the job to the next machine, as a command does that
// attends its purchase. It also brings jobs of purchases that a program before was killed in, once their orders are awarded. A
// purchase is held only meanwhile, so that commands can work on it. Call Attend before the program buys.
func (b *Buyer) Attend(ctx context.Context, a Attending) (end func()) {
	c := carrier{Buyer: b, Attending: a, begun: map[solana.PublicKey]bool{}, taken: map[life]bool{}, over: map[life]bool{}}
	for _, p := range b.purchases() {
		c.begun[p.Order] = p.Stage == purchase.Intended || p.Stage == purchase.Placed
	}
	return beside(ctx, c.run)
}

// life is one of the leases that an address has been.
type life struct {
	lease     solana.PublicKey
	awardedAt int64
}

func lifeOf(l *market.Lease) life { return life{l.Address, l.AwardedAt} }

// carrier brings jobs to the machines of leases.
type carrier struct {
	*Buyer
	Attending
	begun    map[solana.PublicKey]bool // orders of purchases that a program before has begun and not brought to their machines
	taken    map[life]bool             // leases, until this program ends
	over     map[life]bool             // leases that have ended and were looked at, until this program ends
	carrying sync.WaitGroup
}

// run follows the leases, again and again where the chain cannot be followed, and waits for what is carried.
func (c *carrier) run(ctx context.Context) {
	defer c.carrying.Wait()
	c.goOn(ctx)
	for pause := firstCarryPause; ctx.Err() == nil; pause = min(2*pause, lastCarryPause) {
		if err := c.follow(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn().Err(err).Dur("again in", pause).Msg("leases of purchases are not followed")
		}
		_ = wait.For(ctx, pause)
	}
}

// follow begins to carry the job of each lease that needs it, until ctx ends or the chain cannot be followed.
func (c *carrier) follow(ctx context.Context) error {
	v, stop, err := c.service.Live(ctx, view.With([]chain.Filter{query.LeasesOf(c.customer)}))
	if err != nil {
		return err
	}
	defer stop()
	defer beside(ctx, func(ctx context.Context) { c.keepWhole(ctx, v) })()
	for {
		var fresh, over []market.Lease
		if err := v.WaitFor(ctx, func(v *view.View) bool {
			fresh = slices.DeleteFunc(v.LeasesOfCustomer(c.customer), func(l market.Lease) bool { return l.State() > market.LeaseRunning || c.taken[lifeOf(&l)] })
			over = c.ended(v)
			return len(fresh)+len(over) > 0
		}); err != nil {
			return err
		}
		c.again(ctx, over)
		c.forget(ctx, v, over)
		bought := c.purchases()
		for _, l := range fresh {
			c.taken[lifeOf(&l)] = true
			i := slices.IndexFunc(bought, func(p purchase.Purchase) bool { return p.Order == l.Order })
			if i < 0 || !bought[i].Detach || bought[i].Stage == purchase.Over || !c.Ours(purchase.NameOf(bought, &bought[i])) {
				continue
			}
			p := &bought[i]
			if c.waits(&l) {
				c.carrying.Go(func() { c.carry(ctx, p.Inspect, l) })
			}
			if p.UntilStopped {
				c.carrying.Go(func() {
					c.renew(ctx, v, l, p.Args.Duration, func(ctx context.Context, l market.Lease) (bool, error) { return c.renewOnce(ctx, v, l) })
				})
			}
		}
	}
}

// renewOnce extends a lease once. It holds the purchase meanwhile.
func (c *carrier) renewOnce(ctx context.Context, v *view.View, l market.Lease) (more bool, err error) {
	mk, err := c.market(ctx)
	if err != nil {
		return true, err
	}
	held, err := c.hold(ctx, l.Order)
	if err != nil {
		return true, err
	}
	p, err := held.Read()
	if err == nil {
		d := c.dealOf(ctx, v, mk, p, held)
		more, err = d.renewOnce(ctx, l)
	}
	return more || err != nil, errors.Join(err, held.Release())
}

// waits reports whether a lease may run without its job: it continues another, or the program before may not have brought it.
func (c *carrier) waits(l *market.Lease) bool {
	return l.State() <= market.LeaseRunning && (l.Continues == 1 || c.begun[l.Order])
}

// carry brings a job to the machine of its lease, however often that has to be tried while the lease can take it.
func (c *carrier) carry(ctx context.Context, inspect string, l market.Lease) {
	log := c.log.With().Stringer("lease", l.Address).Stringer("order", l.Order).Logger()
	for pause := firstCarryPause; ; pause = min(2*pause, lastCarryPause) {
		leases, err := c.carryOnce(ctx, l)
		switch {
		case err == nil:
			log.Info().Msg("the job of a lease is on its machine")
			if err := c.Carried(inspect, leases); err != nil {
				log.Warn().Err(err).Msg("a lease is not inspected")
			}
			return
		case ctx.Err() != nil:
			return
		case errors.Is(err, attestation.ErrRefused):
			log.Error().Err(err).Msg("the machine of a lease has not proved itself: it was sent nothing, and the lease is ended")
			return
		case errors.Is(err, errJobRefused):
			log.Error().Err(err).Msg("the machine of a lease does not take its job")
			return
		}
		log.Warn().Err(err).Dur("again in", pause).Msg("the job of a lease is not on its machine yet")
		if wait.For(ctx, pause) != nil {
			return
		}
		if cur, found, err := query.Find[market.Lease](ctx, c.client, l.Address, c.client.WaitLevel()); err == nil && (!found || !c.waits(&cur)) {
			log.Warn().Msg("a lease is over before its job was on its machine")
			return
		}
	}
}

// carryOnce continues the purchase of a lease. It returns the leases of its order.
func (c *carrier) carryOnce(ctx context.Context, l market.Lease) ([]service.Lease, error) {
	out, err := c.resume(ctx, l.Order, false)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(out.Leases, func(have service.Lease) bool { return have.Address == l.Address.String() }) {
		return nil, fmt.Errorf("%w: order %s has %s", errNotSeen, l.Order, service.Plural(len(out.Leases), "other lease"))
	}
	return out.Leases, nil
}
