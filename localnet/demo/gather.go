package demo

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// deposit is what each customer puts in.
const deposit = 100 * market.OneUSDC

// gather registers all participants: keepers with bonds, providers with stakes and machines, customers with money.
func (d *demo) gather(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return d.story.during(groupCtx, keepersBond, func() error { return d.bondKeepers(groupCtx) })
	})
	group.Go(func() error {
		return d.story.during(groupCtx, machinesRegister, func() error { return d.registerMachines(groupCtx) })
	})
	group.Go(func() error { return d.story.during(groupCtx, customersPay, func() error { return d.payIn(groupCtx) }) })
	if err := group.Wait(); err != nil {
		return err
	}
	d.out.begin(fmt.Sprintf("%d customers deposit %s test USDC each", customerCount, deposit), "")
	return d.story.during(ctx, keepersMeasure, func() error { return d.measured(ctx) })
}

// bondKeepers starts the keepers and waits until their bonds make them active.
func (d *demo) bondKeepers(ctx context.Context) error {
	if err := d.net.LaunchKeepers(ctx); err != nil {
		return err
	}
	err := d.until(ctx, 15*time.Second, "all keepers to be active", func(v *view.View) bool {
		return len(v.ActiveKeepers()) == keeperCount
	})
	if err != nil {
		return err
	}
	d.out.begin(fmt.Sprintf("%d keepers bond %s GNT each and are active", keeperCount, market.GNT(d.net.Params().MinBond)), "quorum more than 2/3")
	return nil
}

// registerMachines starts the agents and waits until their machines are registered.
func (d *demo) registerMachines(ctx context.Context) error {
	if err := d.net.LaunchAgents(ctx); err != nil {
		return err
	}
	err := d.until(ctx, 15*time.Second, "all nodes to be registered", func(v *view.View) bool {
		return len(v.Nodes()) == len(d.net.Nodes)
	})
	if err != nil {
		return err
	}
	step := d.out.begin(fmt.Sprintf("%d providers stake and register %d nodes", len(d.net.Keys.Providers), len(d.net.Nodes)), "GPUs simulated, labelled so")
	for _, m := range d.net.Nodes {
		d.out.note(step, fmt.Sprintf("%s  %s  %s", m.Name, short(m.Address), m.Detail()))
	}
	if d.noContainers != "" {
		d.out.note(step, "no containers: "+d.noContainers+"; jobs run as processes")
	}
	return nil
}

// payIn lets each customer put in its deposit.
func (d *demo) payIn(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, customer := range d.net.Keys.Customers {
		group.Go(func() error {
			if _, err := d.gantry(ctx, customer, "credits", "add", deposit.String()); err != nil {
				return err
			}
			return d.until(ctx, 10*time.Second, customer.Name+"'s deposit", func(v *view.View) bool {
				c, ok := v.CreditsOf(customer.Address())
				return ok && market.USDC(c.Balance) == deposit
			})
		})
	}
	return group.Wait()
}

// measured waits until a report has the figures of all nodes, and shows them: before that orders reach none. The false H100
// is less than its class from the first one on.
func (d *demo) measured(ctx context.Context) error {
	err := d.until(ctx, 3*time.Minute, "all nodes to be measured", func(v *view.View) bool {
		for _, m := range d.net.Nodes {
			if n, ok := v.Node(m.Address); !ok || n.Operations == 0 || m.Slow <= 1 && n.ClassSince == 0 {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	step := d.out.begin(fmt.Sprintf("keepers measure %d nodes at one instant of each period", len(d.net.Nodes)), "simulated GPUs are processors")
	for _, m := range d.net.Nodes {
		n, _ := d.view.Node(m.Address)
		d.out.note(step, m.Name+"  "+n.FiguresText())
	}
	return nil
}
