package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/market"
)

// silentAfter is how long into the first period that keepers report on in full the silent node stops answering: long
// enough that some seconds of its lease are verified and paid.
const silentAfter = 3 * time.Second

// silentLease is a lease on a node that goes silent: reports end it, what was not delivered is not paid, and the
// customer may claim what it paid for the silent period from the provider's stake.
func (d *demo) silentLease(ctx context.Context) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(leaseGoesSilent)
	customer := d.net.Keys.Customers[1]
	node, err := d.net.Machine(silentA100)
	if err != nil {
		return err
	}
	order := deployment{gpu: "A100", region: "eu-", maxPrice: "1.30", duration: "30m", script: longScript}
	step := d.out.begin(customer.Name+" deploys 1×A100 in Europe and detaches", "")
	if _, err := d.gantry(ctx, customer, order.args()...); err != nil {
		return err
	}
	lease, err := d.lease(ctx, 15*time.Second, customer.Address(), node.Address, market.LeaseRunning)
	if err != nil {
		return err
	}
	d.audits.add(audited{command: []string{"audit", lease.Address.String()}, customer: customer, what: "the lease on the silent node"})
	if err := d.describeAward(ctx, step, lease, node); err != nil {
		return err
	}
	period := int64(d.net.Params().PeriodSecs)
	// A keeper that is down leaves a period in which the lease is not reported and not paid: the node goes silent after
	// one that was reported.
	paid, err := d.leaseWhere(ctx, 60*time.Second, lease.Address, "to be verified by a report", func(l market.Lease, exists bool) bool {
		return !exists || l.VerifiedSecs > 0
	})
	if err != nil {
		return err
	}
	if err := d.chainPasses(ctx, int64(paid.LastReportPeriod+1)*period+int64(silentAfter/time.Second)); err != nil {
		return err
	}
	if err := d.net.Silence(node, true); err != nil {
		return err
	}
	d.out.note(step, node.Name+" goes silent: it answers no request any more")

	failed, err := d.leaseWhere(ctx, 40*time.Second, lease.Address, "to be failed by a report", func(l market.Lease, exists bool) bool {
		return !exists || l.State() == market.LeaseFailed || l.State() == market.LeaseEnded
	})
	if err != nil {
		return err
	}
	fault, err := d.waitFault(ctx, node.Address, lease.Address)
	if err != nil {
		return err
	}
	story.begin(silenceIsSlashed)
	stop := d.out.begin(fmt.Sprintf("report %d: %s was offline during its lease", fault.Period, node.Name), "flag OFFLINE, "+d.voters(fault.Period))
	ended, err := d.leaseWhere(ctx, 20*time.Second, lease.Address, "to be ended by anyone", func(l market.Lease, exists bool) bool {
		return !exists || l.State() == market.LeaseEnded
	})
	if err != nil {
		return err
	}
	equal(d.expect, ended.Reason(), market.EndedFailed, "the silent node's lease ended because it failed")
	d.expect.that(ended.DowntimeSecs > 0, "the silent node's downtime is on the lease")
	if err := d.refunded(ctx, stop, failed); err != nil {
		return err
	}
	ended, err = d.leaseWhere(ctx, 20*time.Second, lease.Address, "to be paid for what it delivered", func(l market.Lease, exists bool) bool { return !exists || l.PaidSecs > 0 })
	if err != nil {
		return err
	}
	if err := d.rate(ctx, stop, customer, ended, 1); err != nil {
		return err
	}
	close(d.unneeded[silentA100])
	if _, err := d.slashed(ctx, stop, fault); err != nil {
		return err
	}
	if err := d.atMostAnHour(fault, ended); err != nil {
		return err
	}
	return d.closed(ctx, stop, ended)
}

// refunded expects that the end of a failed lease gave the rest of its money back.
func (d *demo) refunded(ctx context.Context, step int, failed market.Lease) error {
	history, err := d.past(ctx, failed.Address)
	if err != nil {
		return err
	}
	end, event, ok := invariants.Find(history, func(e *bindings.LeaseEnded) bool { return e.Lease == failed.Address })
	if !d.expect.that(ok, "the end of the failed lease is in its history") {
		return nil
	}
	d.expect.that(event.Released > 0, "the customer of the failed lease is refunded for the rest")
	d.out.note(step, fmt.Sprintf("the lease has failed after %d s: %s USDC for the rest are free again   %s",
		failed.EndedAt-failed.StartedAt, market.USDC(event.Released).Exact(), tx(end.Signature)))
	return nil
}

// atMostAnHour expects that a node's silence cost no more than an hour of the lease, in stake.
func (d *demo) atMostAnHour(fault market.Fault, lease market.Lease) error {
	hour, err := market.Cost(market.PricePerHour(lease.Price), lease.Gpus, 3_600)
	if err != nil {
		return err
	}
	most, err := market.HarmInStake(hour, d.net.Params().StakePrice)
	if err != nil {
		return err
	}
	d.expect.that(fault.Amount <= uint64(most), "silence costs an hour of the lease at most", "%d of %d", fault.Amount, most)
	return nil
}
