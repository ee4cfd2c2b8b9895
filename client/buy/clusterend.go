package buy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// endsAtOnce is how many leases of a cluster are ended at the same time.
const endsAtOnce = 8

// EndCluster ends a cluster of this folder: orders that wait are cancelled, leases that run are ended. A lease that is awarded
// cannot be ended before it starts: the call waits for that, for at most within in total. Left of the answer says what is left then.
// Calling again continues. Error: ErrNoCluster, or those of leases that could not be ended.
func (b *Buyer) EndCluster(ctx context.Context, text string, within time.Duration) (Cluster, error) {
	family, err := pickCluster(b.purchases(), text)
	if err != nil {
		return Cluster{}, err
	}
	leases, left, err := b.endFamily(ctx, family, within)
	if err != nil {
		return Cluster{}, err
	}
	c := clusterOf(family, leases)
	c.Left = left
	return c, nil
}

// endFamily ends the orders of a cluster, for at most within, and updates their purchases in family. left has a sentence for each order
// and lease that is not ended then.
func (b *Buyer) endFamily(ctx context.Context, family []purchase.Purchase, within time.Duration) (leases []service.Lease, left []string, err error) {
	late := time.Now().Add(within)
	parts := make([]*clusterEnd, len(family))
	for i, p := range family {
		e, end, err := b.clusterEnd(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		defer end()
		parts[i] = e
	}
	for _, e := range parts { // before any is waited for
		if err := e.endRunning(); err != nil {
			return nil, nil, err
		}
	}
	for i, e := range parts {
		part, err := e.run(time.Until(late))
		if err != nil {
			return nil, nil, err
		}
		family[i], left = e.p, append(left, part...)
		leases = append(leases, service.DescribeLeases(e.v, e.v.LeasesOfOrder(e.p.Order), b.service.Clock.Latest(ctx).Unix())...)
	}
	return leases, left, nil
}

// clusterEnd prepares the end of one order of a cluster. The caller calls end.
func (b *Buyer) clusterEnd(ctx context.Context, p purchase.Purchase) (_ *clusterEnd, end func(), err error) {
	mk, err := b.market(ctx)
	if err != nil {
		return nil, nil, err
	}
	held, err := b.folder.Hold(p.Order)
	if err != nil && !errors.Is(err, purchase.ErrHeld) {
		return nil, nil, err
	}
	e := &clusterEnd{b: b, ctx: ctx, p: p, held: held, start: mk.Params.StartDeadlineSecs}
	release := func() {
		if held != nil {
			_ = held.Release()
		}
	}
	if held != nil {
		if e.p, err = held.Read(); err != nil {
			release()
			return nil, nil, err
		}
	}
	v, stop, err := b.service.Live(ctx, view.With(append(view.Kinds(market.KindKeeper), query.LeasesOfOrder(p.Order)), p.Order))
	if err != nil {
		release()
		return nil, nil, err
	}
	e.v = v
	return e, func() { stop(); release() }, nil
}

// clusterEnd is an order of a cluster that a call ends.
type clusterEnd struct {
	b     *Buyer
	ctx   context.Context // of the call
	v     *view.View
	p     purchase.Purchase
	held  *purchase.Held // nil where another process works on the purchase
	start uint32         // the market's start deadline, seconds
}

// run ends the order's leases, and says what is left of them.
func (e *clusterEnd) run(within time.Duration) (left []string, err error) {
	if err := e.unsent(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(e.ctx, within)
	defer cancel()
	for {
		if err := e.endRunning(); err != nil {
			return nil, err
		}
		if err := e.cancelOrder(); err != nil {
			return nil, err
		}
		left := e.left()
		if len(e.running()) > 0 { // one has started since
			continue
		}
		if len(left) == 0 {
			break
		}
		err := e.v.WaitFor(ctx, func(*view.View) bool { return len(e.left()) == 0 || len(e.running()) > 0 })
		if e.ctx.Err() != nil {
			return nil, interrupted("interrupted while machines of the cluster start: "+left[0], "end it again: gantry cluster down "+e.p.Order.String())
		}
		if err != nil { // within is over
			break
		}
	}
	if left = e.left(); len(left) == 0 {
		err = e.over()
	}
	return left, err
}

// unsent refuses to end what another process is about to send, and what may still take effect.
func (e *clusterEnd) unsent() error {
	if e.p.Stage != purchase.Intended {
		return nil
	}
	_, exists, err := query.Find[market.Order](e.ctx, e.b.client, e.p.Order, e.b.client.WaitLevel())
	switch {
	case err != nil || exists:
		return err
	case e.held == nil:
		return refused(fmt.Sprintf("another command buys the cluster of order %s right now", e.p.Order), "end that command first, or try again when it has bought")
	}
	return e.b.settled(e.ctx, e.held)
}

// running are the leases that can be ended now.
func (e *clusterEnd) running() []market.Lease {
	return slices.DeleteFunc(e.v.LeasesOfOrder(e.p.Order), func(l market.Lease) bool { return !canEnd(&l) })
}

// canEnd reports whether a customer can end a lease now: it runs, or another machine may take it over.
func canEnd(l *market.Lease) bool { return l.State() == market.LeaseRunning || l.CanMigrate() }

// endRunning ends all leases that run. It tries all of them before it returns an error.
func (e *clusterEnd) endRunning() error {
	leases := e.running()
	failed := make([]error, len(leases))
	var g errgroup.Group
	g.SetLimit(endsAtOnce)
	for i, l := range leases {
		g.Go(func() error {
			_, err := e.b.end(e.ctx, e.v, l)
			if cur, ok := e.v.Lease(l.Address); err != nil && ok && canEnd(&cur) {
				failed[i] = fmt.Errorf("%s: %w", hostOf(&e.p, l.Address), err)
			}
			return nil
		})
	}
	_ = g.Wait() // no function returns an error: none of them stops the others
	return errors.Join(failed...)
}

// cancelOrder takes an order back that waits, where that can be done.
func (e *clusterEnd) cancelOrder() error {
	o, exists, err := query.Find[market.Order](e.ctx, e.b.client, e.p.Order, e.b.client.WaitLevel())
	if err != nil || !exists || !o.Unused() {
		return err
	}
	now, err := e.b.client.Now(e.ctx)
	if err != nil {
		return err
	}
	if o.CanCancel(now) != nil { // its machines are drawn: it is awarded soon, or expires
		return nil
	}
	instruction, err := ix.OrderCancelBy(o, e.b.signer.PublicKey())
	if _, err = e.b.sendOne(e.ctx, "order_cancel", instruction, err); err != nil {
		if cur, exists, ferr := query.Find[market.Order](e.ctx, e.b.client, e.p.Order, e.b.client.WaitLevel()); ferr == nil && (!exists || !cur.Unused()) {
			return nil // it was awarded meanwhile, or somebody has ended it
		}
		return err
	}
	return e.v.WaitFor(e.ctx, func(v *view.View) bool {
		o, ok := v.Order(e.p.Order)
		return !ok || !o.Unused()
	})
}

// left says what cannot be ended yet, and why. The order comes first: it makes leases, and leases make none.
func (e *clusterEnd) left() (out []string) {
	if o, ok := e.v.Order(e.p.Order); ok && (o.State() == market.OrderOpen || o.Unused()) {
		out = append(out, fmt.Sprintf("order %s waits for machines and cannot be cancelled now", e.p.Order))
	}
	for _, l := range e.v.LeasesOfOrder(e.p.Order) {
		if l.State() == market.LeaseAwarded {
			out = append(out, fmt.Sprintf("%s: its lease %s is awarded and has not started. It starts, or comes to nothing, by %s UTC", hostOf(&e.p, l.Address), l.Address,
				service.When(l.AwardedAt+int64(e.start))))
		}
	}
	return out
}

// over stores that nothing is left to be done. Another process that works on the purchase sees the ends itself.
func (e *clusterEnd) over() error {
	if e.held == nil || e.p.Stage == purchase.Over {
		return nil
	}
	// The command that bought it may have died between the start of a machine and its own note of that.
	e.p.Bought = e.p.Bought || slices.ContainsFunc(e.v.LeasesOfOrder(e.p.Order), func(l market.Lease) bool { return l.StartedAt > 0 })
	exit, outcome := service.CodeDone, "the cluster was ended"
	if !e.p.Bought {
		exit, outcome = service.CodeRefused, "the cluster was ended before it ran"
	}
	e.p.End(exit, outcome, nil)
	return e.held.Write(e.p)
}
