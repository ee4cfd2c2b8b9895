package cli

import (
	"context"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// awaitOutputs waits until the outputs of a redundant job are compared and prints whether the output of the lease was
// accepted.
func (d *deployment) awaitOutputs(ctx context.Context, l market.Lease) error {
	stop := d.s.waiting("the outputs to be compared", "Ctrl-C detaches; keepers compare them all the same")
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
	if market.OutputState(cur.Output) == market.OutputAccepted {
		d.s.say(" ✓ output   of %s is what most machines have: %x", short(l.Node), cur.OutputHash[:8])
	} else {
		d.s.say(" ✗ output   of %s is not what most machines have; it is not paid", short(l.Node))
	}
	return nil
}
