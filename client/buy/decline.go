package buy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// mostMachines is how many machines may decline an order, or not start it, before the purchase gives up.
const mostMachines = 4

// errUnserved: a machine has declined its lease, or did not start it in time. Its order has lapsed.
var errUnserved = errors.New("the lease was not served")

// unserved is why a lease that was awarded is gone, as far as the chain's history says.
func (d *deal) unserved(ctx context.Context, l market.Lease) error {
	why := fmt.Sprintf("lease %s did not start in time and was aborted", l.Address)
	if reason, ok := d.declined(ctx, l.Address); ok {
		why = fmt.Sprintf("the machine declined lease %s: %s", l.Address, reason)
	}
	return &failure{
		Code: service.CodeRefused, Reason: why, Cause: errors.Join(errUnserved, errNoMachine),
		Advice: "what was reserved for it is free again, except for the seconds in which a machine that declined was kept; try again",
	}
}

// declined reads the reason with which a machine has declined a lease.
func (d *deal) declined(ctx context.Context, lease solana.PublicKey) (market.DeclineReason, bool) {
	history, err := audit.Read(ctx, d.b.client, lease, d.b.client.WaitLevel())
	if err != nil {
		return 0, false
	}
	for i := len(history) - 1; i >= 0; i-- {
		for _, e := range history[i].Events {
			if v, ok := e.Value.(*bindings.LeaseDeclined); ok && v.Lease == lease {
				return market.DeclineReason(v.Reason), true
			}
		}
	}
	return 0, false
}

// lapseWait is how long the transaction of a machine that has refused the job is waited for.
const lapseWait = 5 * time.Second

// elsewhere opens the order again for other machines after one of them has not served it. It returns err where it cannot, or
// where no other machine suits.
func (d *deal) elsewhere(err error, tries int) error {
	job := errors.Is(err, errJobRefused)
	if (!job && !errors.Is(err, errUnserved)) || tries >= mostMachines || d.r.args.Redundant || d.ctx.Err() != nil {
		return err
	}
	o, found := d.lapsed()
	if !found || !d.othersSuit(&o) {
		return err
	}
	instruction, rerr := ix.OrderReopen(o, d.r.args.Authority)
	if _, rerr = d.b.sendOne(d.ctx, "order_reopen", instruction, rerr); rerr != nil {
		return errors.Join(err, rerr)
	}
	d.b.tell(Declined{Order: d.order, Why: classify(err).Reason})
	d.jobs.Lock()
	d.p.Bought = false
	werr := d.held.Write(d.p)
	d.jobs.Unlock()
	if werr != nil {
		return werr
	}
	ctx, cancel := context.WithTimeout(d.ctx, viewLag)
	defer cancel()
	return d.v.WaitFor(ctx, func(v *view.View) bool {
		now, ok := v.Order(d.order)
		return ok && now.State() != market.OrderLapsed
	})
}

// lapsed waits until the order has lapsed: a machine that refuses the job says so on chain a moment later.
func (d *deal) lapsed() (market.Order, bool) {
	ctx, cancel := context.WithTimeout(d.ctx, lapseWait)
	defer cancel()
	_ = d.v.WaitFor(ctx, func(v *view.View) bool {
		o, ok := v.Order(d.order)
		return !ok || o.State() == market.OrderLapsed
	})
	o, exists, err := query.Find[market.Order](d.ctx, d.b.client, d.order, d.b.client.WaitLevel())
	return o, err == nil && exists && o.State() == market.OrderLapsed
}

// othersSuit reports whether another machine could be awarded what the order misses.
func (d *deal) othersSuit(o *market.Order) bool {
	now, err := d.b.client.Now(d.ctx)
	if err != nil {
		return false
	}
	missing, leased := int(o.NodesWanted-o.NodesAwarded), map[solana.PublicKey]bool{}
	for _, l := range d.v.LeasesOfOrder(d.order) {
		leased[l.Node] = true
	}
	v, err := d.b.service.Snapshot(d.ctx, view.With(nodesOf(d.r.models)))
	if err != nil {
		return false
	}
	d.r.nodes(d.mk, d.order, v, d.r.models, now, func(n market.Node, err error) {
		if err == nil && !leased[n.Address] && !o.UnservedBy(n.Address) {
			missing--
		}
	})
	return missing <= 0 && len(o.Unserved()) < len(o.Order.UnservedBy)
}
