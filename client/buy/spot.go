package buy

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// awaitNotice tells once that the machine of a lease that it may leave has given notice, until end is called.
func (d *deal) awaitNotice(ctx context.Context, l market.Lease) (end func()) {
	if !d.r.args.Interruptible && !d.p.Retry {
		return func() {}
	}
	return beside(ctx, func(ctx context.Context) {
		var cur market.Lease
		err := d.v.WaitFor(ctx, func(v *view.View) bool {
			var there bool
			cur, there = v.Lease(l.Address)
			return there && cur.NoticeAt != 0
		})
		if err == nil {
			d.b.tell(Noticed{Lease: cur})
		}
	})
}

// interruptedBy says how a lease ended whose machine has given notice, once its job is over, and how the job ended then.
func (d *deal) interruptedBy(ctx context.Context, l market.Lease, st messages.LeaseStatus) (messages.LeaseStatus, error) {
	cur, there := d.v.Lease(l.Address)
	if !there || cur.NoticeAt == 0 || !d.r.args.Interruptible && !d.p.Retry {
		return st, nil
	}
	if err := d.overOnChain(ctx, cur); err != nil {
		return st, err
	}
	return d.statusOver(ctx, l, st), nil
}

// seenOverTime is how long a machine may take to see that a lease is over.
const seenOverTime = 5 * time.Second

// statusOver is how a job ended whose lease is over. Until its machine has seen that, it calls a job that it has stopped one that has
// ended. How a job in a measured guest has ended is not the machine's to say.
func (d *deal) statusOver(ctx context.Context, l market.Lease, st messages.LeaseStatus) messages.LeaseStatus {
	if d.p.Guest {
		return st
	}
	ctx, cancel := context.WithTimeout(ctx, seenOverTime)
	defer cancel()
	for st.State == messages.LeaseExited && wait.For(ctx, 200*time.Millisecond) == nil {
		if next, err := d.remote.Status(ctx, l); err == nil {
			st = next
		}
	}
	return st
}
