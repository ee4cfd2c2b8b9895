package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// leave closes what is not closed yet: credits, keepers, reports. Providers left as soon as the demo needed them no
// more.
func (d *demo) leave(ctx context.Context) error {
	d.out.begin("customers and keepers leave", "credits, bonds, reports")
	d.cooldowns.work(1) // customers and keepers in place of the middle part
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer d.cooldowns.work(-1)
		return d.story.during(groupCtx, customersLeave, func() error {
			each, ctx := errgroup.WithContext(groupCtx)
			for _, c := range d.net.Keys.Customers {
				each.Go(func() error { return d.customerLeaves(ctx, c) })
			}
			return each.Wait()
		})
	})
	group.Go(func() error {
		defer d.cooldowns.work(-1)
		return d.story.during(groupCtx, keepersLeave, func() error { return d.keepersLeave(groupCtx) })
	})
	return group.Wait()
}

// providersLeave lets all providers go, each when the demo needs it no more. The chapter begins with the first of them.
func (d *demo) providersLeave(ctx context.Context) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	first := sync.OnceFunc(func() { story.begin(providersLeave) })
	group, groupCtx := errgroup.WithContext(ctx)
	for i, p := range d.net.Keys.Providers {
		d.cooldowns.work(1)
		group.Go(func() error {
			defer d.cooldowns.work(-1)
			return d.providerLeaves(groupCtx, i, p, first)
		})
	}
	return group.Wait()
}

// providerLeaves retires the provider's machines, each when the demo needs it no more, closes them, takes the stake
// out, and closes the provider. It calls leaves when it begins.
func (d *demo) providerLeaves(ctx context.Context, index int, owner seed.Wallet, leaves func()) error {
	for _, m := range d.net.Nodes {
		if m.Provider != index {
			continue
		}
		if err := passed(ctx, d.unneeded[m.Name]); err != nil {
			return err
		}
		leaves()
		if err := d.retire(ctx, m); err != nil {
			return err
		}
	}
	for _, m := range d.net.Nodes {
		if m.Provider != index {
			continue
		}
		if err := d.closeNode(ctx, m); err != nil {
			return err
		}
	}
	var provider market.Provider
	if err := d.until(ctx, 10*time.Second, owner.Name+"'s stake to be needed no more", func(v *view.View) bool {
		p, ok := v.ProviderOf(owner.Address())
		provider = p
		return ok && p.LockedStake == 0 && p.PendingFaults == 0
	}); err != nil {
		return err
	}
	if provider.Stake > 0 { // all of it may have been slashed
		if err := d.unstake(ctx, owner, provider); err != nil {
			return err
		}
	}
	if _, err := d.gantry(ctx, owner, "provider", "close"); err != nil {
		return err
	}
	if err := d.until(ctx, 10*time.Second, owner.Name+" to be closed", func(v *view.View) bool {
		_, ok := v.ProviderOf(owner.Address())
		return !ok
	}); err != nil {
		return err
	}
	d.out.begin(owner.Name+" has closed its nodes and left with its stake", "")
	return nil
}

// unstake gets a provider's stake back.
func (d *demo) unstake(ctx context.Context, owner seed.Wallet, provider market.Provider) error {
	if _, err := d.gantry(ctx, owner, "provider", "unstake", market.GNT(provider.Stake).String()); err != nil {
		return err
	}
	if err := d.until(ctx, 10*time.Second, owner.Name+"'s stake to be on its way out", func(v *view.View) bool {
		provider, _ = v.ProviderOf(owner.Address())
		return provider.UnstakeAt > 0
	}); err != nil {
		return err
	}
	if err := d.coolDown(ctx, provider.UnstakeAt); err != nil {
		return err
	}
	_, err := d.gantry(ctx, owner, "provider", "withdraw")
	return err
}

func (d *demo) retire(ctx context.Context, m *network.Machine) error {
	node, ok := d.view.Node(m.Address)
	if ok && node.State() == market.NodeRetired {
		return nil
	}
	if err := d.net.RetireNode(ctx, m); err != nil {
		return err
	}
	return d.until(ctx, 10*time.Second, m.Name+" to be retired", func(v *view.View) bool {
		n, ok := v.Node(m.Address)
		return ok && n.State() == market.NodeRetired
	})
}

// closeNode waits for the cool-down of the machine's stake, and closes it.
func (d *demo) closeNode(ctx context.Context, m *network.Machine) error {
	node, ok := d.view.Node(m.Address)
	if !d.expect.that(ok, m.Name+" is there until it is closed") {
		return nil
	}
	if err := d.coolDown(ctx, node.ClosesAt); err != nil {
		return err
	}
	if err := d.until(ctx, 60*time.Second, m.Name+" to have no faults pending and no leases open", func(v *view.View) bool {
		n, ok := v.Node(m.Address)
		return ok && n.PendingFaults == 0 && n.OpenLeases == 0
	}); err != nil {
		return err
	}
	if err := d.net.Stop(ctx, m.Name); err != nil {
		return err
	}
	if err := d.net.CloseNode(ctx, m); err != nil {
		return err
	}
	return d.until(ctx, 10*time.Second, m.Name+" to be closed", func(v *view.View) bool {
		_, ok := v.Node(m.Address)
		return !ok
	})
}

// customerLeaves takes a customer's money and rent out.
func (d *demo) customerLeaves(ctx context.Context, c seed.Wallet) error {
	if err := d.until(ctx, 40*time.Second, c.Name+"'s last order to be closed", func(v *view.View) bool {
		credits, ok := v.CreditsOf(c.Address())
		return ok && credits.LiveOrders == 0 && credits.LiveLeases == 0
	}); err != nil {
		return err
	}
	credits, _ := d.view.CreditsOf(c.Address())
	equal(d.expect, credits.Reserved, 0, "nothing of "+c.Name+"'s credits is reserved at the end")
	if _, err := d.gantry(ctx, c, "credits", "withdraw", "all"); err != nil {
		return err
	}
	if _, err := d.gantry(ctx, c, "credits", "close"); err != nil {
		return err
	}
	return d.until(ctx, 10*time.Second, c.Name+"'s credits to be closed", func(v *view.View) bool {
		_, ok := v.CreditsOf(c.Address())
		return !ok
	})
}

// keepersLeave lets the keepers go once no lease needs them, and closes what they have reported.
func (d *demo) keepersLeave(ctx context.Context) error {
	if err := d.until(ctx, 60*time.Second, "the last lease to be over", func(v *view.View) bool {
		return len(v.Leases()) == 0 && len(v.Orders()) == 0
	}); err != nil {
		return err
	}
	if err := d.settleSlashes(ctx); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for i, k := range d.net.Keys.Keepers {
		d.cooldowns.work(1)
		group.Go(func() error {
			defer d.cooldowns.work(-1)
			if err := d.net.ExitKeeper(groupCtx, i); err != nil {
				return err
			}
			var exit int64
			if err := d.until(groupCtx, 10*time.Second, k.Name+" to be on its way out", func(v *view.View) bool {
				keeper, ok := v.KeeperOf(k.Address())
				exit = keeper.ExitAt
				return ok && keeper.State() == market.KeeperExiting
			}); err != nil {
				return err
			}
			if err := d.coolDown(groupCtx, exit); err != nil {
				return err
			}
			// A late period may have been shared out meanwhile; the keeper itself claims what it has earned.
			if err := d.until(groupCtx, 15*time.Second, k.Name+" to have claimed its rewards", func(v *view.View) bool {
				keeper, ok := v.KeeperOf(k.Address())
				return ok && keeper.Earned == 0
			}); err != nil {
				return err
			}
			if err := d.net.WithdrawKeeper(groupCtx, i); err != nil {
				return err
			}
			return d.until(groupCtx, 10*time.Second, k.Name+" to be gone", func(v *view.View) bool {
				_, ok := v.KeeperOf(k.Address())
				return !ok
			})
		})
	}
	d.cooldowns.work(-1) // each of them works
	err := group.Wait()
	d.cooldowns.work(1)
	if err != nil {
		return err
	}
	return d.closeReports(ctx)
}

// closeReports waits until the last report is closed. Keepers close them while they work; the rest anyone may.
func (d *demo) closeReports(ctx context.Context) error {
	params := d.net.Params()
	for _, r := range d.view.Reports() {
		end := int64(r.Period+1) * int64(params.PeriodSecs)
		if err := d.coolDown(ctx, max(end, r.FinalisedAt)+int64(params.ReportRetentionSecs)+1); err != nil {
			return err
		}
		instruction, err := ix.ReportClose(r)
		if err := d.closeOff(ctx, fmt.Sprintf("close the report of period %d,", r.Period), r.Address, instruction, err); err != nil {
			return err
		}
	}
	return d.until(ctx, 20*time.Second, "the reports to be closed", func(v *view.View) bool { return len(v.Reports()) == 0 })
}

// outages are those that are open.
func outages(v *view.View) (open []market.Outage) {
	v.Read(func(a *view.Accounts) {
		for _, o := range a.Outages {
			open = append(open, *o)
		}
	})
	return open
}
