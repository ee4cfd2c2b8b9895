package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// jobScript is a small computation with output worth showing: gradient descent on one number.
const jobScript = `awk 'BEGIN { x = 4; for (e = 1; e <= 20; e++) { x -= 0.2 * 2 * (x - 1); if (e % 5 == 0) printf "epoch %2d  loss %.6f\n", e, (x - 1) ^ 2 } print "done" }'; sleep 3`

// longScript runs until the lease is ended.
const longScript = `echo "working on $GANTRY_GPUS"; while :; do sleep 1; done`

// smallJob is a lease that ends with its job; the customer stays and signs receipts.
func (d *demo) smallJob(ctx context.Context) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(smallJobRuns)
	customer := d.net.Keys.Customers[0]
	node, err := d.net.Machine(honestA100)
	if err != nil {
		return err
	}
	order := deployment{gpu: "A100", region: "us-", maxPrice: "1.60", duration: "10m", attached: true, sealed: true, script: jobScript}
	step := d.out.begin(customer.Name+" deploys a small job on 1×A100 by sealed auction", "stays and signs receipts")
	// The client stays until the last receipt is signed; what happens meanwhile is watched on the chain.
	group, groupCtx := errgroup.WithContext(ctx)
	var text string
	group.Go(func() error {
		out, err := d.gantry(groupCtx, customer, order.args()...)
		text = jobOutput(out.Stderr)
		return err
	})
	var lease market.Lease
	group.Go(func() error {
		lease, err = d.lease(groupCtx, 50*time.Second, customer.Address(), node.Address, market.LeaseRunning, market.LeaseEnded)
		if err != nil {
			return err
		}
		d.audits.add(audited{command: []string{"audit", lease.Address.String()}, customer: customer, what: "the small job"})
		if err := d.describeAward(groupCtx, step, lease, node); err != nil {
			return err
		}
		lease, err = d.leaseWhere(groupCtx, 40*time.Second, lease.Address, "to be over and paid", func(l market.Lease, exists bool) bool {
			return !exists || (l.State() == market.LeaseEnded && l.Paid > 0)
		})
		if err != nil {
			return err
		}
		equal(d.expect, lease.Reason(), market.EndedJobDone, "the small job's lease ended with its job")
		return d.rate(groupCtx, step, customer, lease, 5)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	d.expect.that(strings.Contains(text, "epoch 20"), "the small job's output is shown", "got %q", text)
	d.out.note(step, "job output:\n"+indent(text, "  "))
	story.begin(smallJobReplayed)
	if err := d.closed(ctx, step, lease); err != nil {
		return err
	}
	if err := d.replay(ctx, step, customer, lease); err != nil {
		return err
	}
	close(d.unneeded[honestA100])
	close(d.unneeded[rivalA100])
	ok, err := d.settledBy(ctx, lease.Address, market.SourceReceipt)
	if err != nil {
		return err
	}
	d.expect.that(ok, "the small job was settled by receipts")
	return nil
}

// longLease is a lease whose customer goes away: reports settle it, and it is stopped early, while new business is
// paused, because a paused market still pays and refunds.
func (d *demo) longLease(ctx context.Context) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(longLeaseRuns)
	customer := d.net.Keys.Customers[1]
	node, err := d.net.Machine(honestH100)
	if err != nil {
		return err
	}
	order := deployment{gpu: "H100", region: "us-west", maxPrice: "2.60", duration: "1h", script: longScript}
	step := d.out.begin(customer.Name+" deploys 1×H100 for an hour and detaches", "reports will settle it")
	if _, err := d.gantry(ctx, customer, order.args()...); err != nil {
		return err
	}
	lease, err := d.lease(ctx, 15*time.Second, customer.Address(), node.Address, market.LeaseRunning)
	if err != nil {
		return err
	}
	d.audits.add(audited{command: []string{"audit", lease.Address.String()}, customer: customer, what: "the long lease"})
	if err := d.describeAward(ctx, step, lease, node); err != nil {
		return err
	}
	paid, err := d.leaseWhere(ctx, 40*time.Second, lease.Address, "to be paid by a report", func(l market.Lease, exists bool) bool { return !exists || l.PaidSecs > 0 })
	if err != nil {
		return err
	}
	d.out.note(step, fmt.Sprintf("a final report verified %d s, paid %s USDC so far", paid.VerifiedSecs, market.USDC(paid.Paid).Exact()))
	story.end(ctx, nil)
	// The containers' orders come before the pause, or they would be refused.
	if err := passed(ctx, d.contained); err != nil {
		return err
	}
	story.begin(marketPauses)
	if err := d.pauseAnd(ctx, func(ctx context.Context) error {
		stop := d.out.begin(customer.Name+" stops its lease early, in a paused market", fmt.Sprintf("after %d s of 3600 s", time.Now().Unix()-lease.StartedAt))
		free := func() market.USDC {
			c, _ := d.view.CreditsOf(customer.Address())
			return c.Free()
		}
		was := free()
		if _, err := d.gantry(ctx, customer, "stop", lease.Address.String()); err != nil {
			return err
		}
		if _, err := d.lease(ctx, 10*time.Second, customer.Address(), node.Address, market.LeaseEnded); err != nil {
			return err
		}
		if err := d.becomes(ctx, "stopping a lease frees what can no longer be owed", func(*view.View) bool { return free() > was }); err != nil {
			return err
		}
		d.out.note(stop, fmt.Sprintf("%s USDC of its reservation are free again at once", free()-was))
		if _, err := d.gantry(ctx, customer, "credits", "withdraw", "1"); err != nil {
			return err
		}
		d.out.note(stop, "and credits can be withdrawn")
		return nil
	}); err != nil {
		return err
	}
	if err := d.rate(ctx, step, customer, lease, 4); err != nil {
		return err
	}
	if err := d.closed(ctx, step, lease); err != nil {
		return err
	}
	close(d.unneeded[honestH100])
	ok, err := d.settledBy(ctx, lease.Address, market.SourceReport)
	if err != nil {
		return err
	}
	d.expect.that(ok, "the long lease was settled by reports")
	return nil
}
