package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// falseClaim follows a node that claims an H100 and computes far too slowly: no measurement of a row shows its class, and a
// part of its stake is slashed.
func (d *demo) falseClaim(ctx context.Context) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(falseClaimFound)
	node, err := d.net.Machine(falseH100)
	if err != nil {
		return err
	}
	fault, err := d.waitFault(ctx, node.Address, solanaZero)
	if err != nil {
		return err
	}
	params := d.net.Params()
	story.begin(falseClaimSlashed)
	step := d.out.begin(fmt.Sprintf("report %d: %s claims an H100, and none of %d measurements shows one", fault.Period, node.Name, market.SlowPeriods(&params)), "flag SLOW, "+d.voters(fault.Period))
	d.expect.that(records.Flags(fault.Flags)&records.FlagSlow != 0, "the false H100 is caught by its figures", "flags %v", fault.Flags)
	if n, ok := d.view.Node(node.Address); d.expect.that(ok, "the false H100 can be read") {
		share := market.ShareBPS(n.Operations, n.Bandwidth, n.MinOperations, n.MinBandwidth)
		d.expect.that(n.Operations > 0 && share < market.FiguresBPS, "the false H100's figures are on chain, and less than its class", "%s", n.FiguresText())
	}
	if err := d.until(ctx, 10*time.Second, node.Name+" to be suspended", func(v *view.View) bool {
		n, ok := v.Node(node.Address)
		return ok && n.State() == market.NodeSuspended
	}); err != nil {
		return err
	}
	d.out.note(step, node.Name+" is suspended at once: no order reaches it")
	if err := d.printProof(ctx, step, fault); err != nil {
		return err
	}
	slash, err := d.slashed(ctx, step, fault)
	if err != nil {
		return err
	}
	close(d.unneeded[falseH100])
	// No customer was harmed: all of it is burned, half of it at once.
	equal(d.expect, slash.Finder, 0, "what a report finds has no finder")
	return d.becomes(ctx, "the false H100's provider was slashed by the fault's amount", func(v *view.View) bool {
		provider, ok := v.ProviderOf(node.Owner.Address())
		return ok && provider.SlashedTotal >= fault.Amount
	})
}
