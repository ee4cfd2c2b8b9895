package buy

import (
	"context"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// awaitNotice tells once that the machine of an interruptible lease has given notice, until end is called.
func (d *deal) awaitNotice(ctx context.Context, l market.Lease) (end func()) {
	if !d.r.args.Interruptible {
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

// interruptedBy says how an interruptible lease ended whose machine has given notice, once its job is over.
func (d *deal) interruptedBy(ctx context.Context, l market.Lease) error {
	if cur, there := d.v.Lease(l.Address); d.r.args.Interruptible && there && cur.NoticeAt != 0 {
		return d.overOnChain(ctx, cur)
	}
	return nil
}
