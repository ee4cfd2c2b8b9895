package provider

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// stopAgain is how many polls there are at most between two tries to end a lease.
const stopAgain = 5

// finish ends the lease of a pod that was deleted, tells that it is over, and forgets it. It is called again and again until
// that is so.
func (p *Provider) finish(ctx context.Context, w *work, r record) (pause time.Duration, over bool) {
	now := time.Now()
	switch {
	case r.Done, r.Lease == "" && !r.Sent:
		return p.gone(w, r, ending{code: exitUnknown, reason: reasonDeleted, message: "the pod was deleted before it ran", finished: now, failed: true})
	case r.Lease == "":
		return p.catch(ctx, w, r)
	}
	l, err := p.o.Market.Stop(ctx, r.Lease)
	switch {
	case ctx.Err() != nil:
		return 0, false
	case market.NotFound(err) && w.tries < closedAfter:
		w.tries++
		return p.o.Poll, false
	case market.NotFound(err):
		l = market.Lease{Address: r.Lease, Status: "closed"}
	case err != nil: // one that was awarded cannot be ended before it starts
		p.o.Log.Debug().Err(err).Str("lease", r.Lease).Msg("a lease cannot be ended yet")
		return min(p.retry(w), stopAgain*p.o.Poll), false
	case !l.Over():
		return p.o.Poll, false
	}
	job, err := p.o.Market.Job(ctx, r.Lease)
	if err != nil {
		job = market.Job{}
	}
	e := endingOf(&r, &l, &job, now)
	if e.reason == reasonStopped {
		e.reason, e.message = reasonDeleted, "the pod was deleted, and its lease has ended"
	}
	return p.gone(w, r, e)
}

// catch learns what has become of an order that was sent: a lease that it comes to is ended, too.
func (p *Provider) catch(ctx context.Context, w *work, r record) (time.Duration, bool) {
	order, err := p.o.Market.Buy(ctx, r.key(), r.Request)
	switch {
	case ctx.Err() != nil:
		return 0, false
	case err == nil && order.Bought():
		p.bought(w, order.Leases[0], time.Now())
	case market.Certain(err):
		_ = p.change(w, func(c *record) { c.Sent = false })
	case err != nil:
		return p.retry(w), false
	}
	return 0, false
}

// gone tells that a pod is over, and forgets it.
func (p *Provider) gone(w *work, r record, e ending) (time.Duration, bool) {
	if !r.Done && len(r.Pod.Spec.Containers) > 0 {
		w.mu.Lock()
		setOver(&w.rec, e, time.Now())
		w.mu.Unlock()
		p.tell(w)
	}
	if err := p.forget(w); err != nil {
		p.o.Log.Error().Err(err).Msg("a pod that is over is not forgotten")
		return p.o.RetryMost, false
	}
	return 0, true
}
