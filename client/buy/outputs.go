package buy

import (
	"context"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// awaitOutputs waits until the outputs of a redundant job are compared and reports whether the output of the
// lease was accepted.
func (d *deal) awaitOutputs(ctx context.Context, l market.Lease) error {
	stop := d.b.waiting(Wait{For: WaitOutputs, Order: d.order})
	var cur market.Lease
	err := d.v.WaitFor(ctx, func(v *view.View) bool {
		var ok bool
		cur, ok = v.Lease(l.Address)
		return !ok || market.OutputState(cur.Output) >= market.OutputAccepted
	})
	stop()
	if err != nil {
		return err
	}
	cur.Node = l.Node // also where the lease is gone
	d.b.tell(OutputCompared{Lease: cur, Accepted: market.OutputState(cur.Output) == market.OutputAccepted})
	return nil
}
