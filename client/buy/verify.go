package buy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	// figureAge is how many periods old a figure may be for auto.
	figureAge = 2
	// drawnOneIn is the share of leases, 1/n, that auto measures whatever is known of the machine: one that relays its
	// work must have the other machine ready at all times.
	drawnOneIn = 8
)

// badMachine is the error of a lease whose machine did not pass.
type badMachine struct {
	lease market.Lease
	what  string // it did, or did not
	why   error
}

func (b *badMachine) Error() string {
	return fmt.Sprintf("the machine of lease %s %s: %v", b.lease.Address, b.what, b.why)
}

func (b *badMachine) Unwrap() error { return b.why }

// wantsMeasured reports whether a lease is to be measured.
func (d *deal) wantsMeasured(ctx context.Context, l market.Lease) (bool, error) {
	if d.p.Verify != Always && d.p.Verify != Auto {
		return false, nil
	}
	n, err := d.node(ctx, l)
	if err != nil {
		return false, err
	}
	drawn, err := drawByte()
	if err != nil {
		return false, err
	}
	now, err := d.b.client.Now(d.ctx)
	if err != nil {
		return false, err
	}
	return d.p.Verify == Always || verifies(&n, uint64(now)/uint64(max(d.mk.Params.PeriodSecs, 1)), drawn), nil
}

// node is the node of a lease: the view follows it from the award on, and shows it a moment later.
func (d *deal) node(ctx context.Context, l market.Lease) (n market.Node, err error) {
	if err := d.v.WaitFor(ctx, func(v *view.View) (ok bool) {
		n, ok = v.Node(l.Node)
		return ok
	}); err != nil {
		return n, fmt.Errorf("node %s of lease %s is not seen on chain: %w", l.Node, l.Address, err)
	}
	return n, nil
}

// drawByte is a byte at random.
func drawByte() (byte, error) {
	var b [1]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("random number: %w", err)
	}
	return b[0], nil
}

// verifies reports whether auto measures a lease of a node in a period, with a byte that is drawn. Simulated GPUs have
// nothing to show.
func verifies(n *market.Node, period uint64, drawn byte) bool {
	switch {
	case n.Spec.Simulated == 1:
		return false
	case n.MeasuredPeriod == 0, period > n.MeasuredPeriod+figureAge:
		return true
	}
	return drawn%drawnOneIn == 0
}

// startOne has a lease's machine prove itself and be measured if that is wanted, brings the job, and waits until it runs.
// The job is brought when the machine has begun to measure, so that it fetches the image meanwhile; an honest one starts
// the lease, and the bill, when its customer has the result. Error: *badMachine, after the lease was ended.
func (d *deal) startOne(ctx context.Context, l market.Lease) error {
	if err := d.proves(ctx, l); err != nil {
		return err
	}
	wants, err := d.wantsMeasured(ctx, l)
	switch {
	case err != nil:
		return err
	case wants && l.State() != market.LeaseAwarded: // an earlier command has brought the job
		d.b.tell(NotMeasured{Lease: l})
		return d.handOver(ctx, l)
	case !wants:
		return d.handOver(ctx, l)
	}
	m, err := MeasurementOf(d.v, d.mk, l)
	if err != nil {
		return err
	}
	mctx, cancel := context.WithTimeout(ctx, measureTime(&d.mk.Params))
	defer cancel()
	began, over := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(over)
		m.Run(mctx, d.remote, func() { close(began) })
		if m.Why() == nil {
			d.b.tell(Measured{Lease: l, Figures: m.Result.Figures, Typical: m.Typical})
		}
	})
	defer wg.Wait()
	defer cancel()
	judged := func() error {
		if why := m.Why(); why != nil && ctx.Err() == nil {
			return d.leave(ctx, l, why)
		}
		return ctx.Err()
	}
	select {
	case <-began:
	case <-over: // it may have been quick
		if err := judged(); err != nil {
			return err
		}
	}
	if err := d.handOver(ctx, l); err != nil {
		return err
	}
	<-over
	return judged()
}

// leave ends a lease whose machine did not pass its measurement. Error: as end.
func (d *deal) leave(ctx context.Context, l market.Lease, why error) error {
	d.b.tell(Failed{Lease: l, Why: why})
	return d.end(ctx, l, &badMachine{l, "does not pass its measurement", why})
}

// end ends a lease whose machine is bad, as soon as that can be done: an awarded lease cannot be ended, and a machine that
// does not start it is not paid. No receipt is signed for it. Error: *badMachine when nothing is left to be ended.
func (d *deal) end(ctx context.Context, l market.Lease, bad *badMachine) error {
	started := false
	err := d.v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok := v.Lease(l.Address)
		started = ok && cur.State() == market.LeaseRunning
		if ok {
			l = cur
		}
		return !ok || cur.State() != market.LeaseAwarded
	})
	switch {
	case err != nil:
		return refused(fmt.Sprintf("%v; it has not started yet", bad), "it is billed when it does: end it then with gantry stop "+l.Address.String())
	case !started:
		d.b.tell(NeverStarted{Lease: l})
		return bad
	}
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: d.b.signer.PublicKey(), Lease: l})
	tx, err := d.b.sendOne(d.ctx, "lease_end", instruction, err)
	if err != nil { // not a *badMachine: the lease runs on
		return refused(fmt.Sprintf("%v, and the lease could not be ended: %v", bad, err), "it is billed: end it with gantry stop "+l.Address.String())
	}
	cur, err := query.Fetch[market.Lease](ctx, d.b.client, l.Address, d.b.client.WaitLevel())
	if err != nil {
		d.b.tell(Left{Lease: l, Signature: tx.Signature})
		return bad
	}
	secs := cur.BillableSecs(cur.EndedAt)
	most, err := cur.Owed(secs)
	if err != nil {
		return err
	}
	d.b.tell(Left{Lease: l, Known: true, Seconds: secs, Most: most, Signature: tx.Signature})
	return bad
}

// unlessBad ends the deployment if machines did not pass: a purchase of which nothing is left bought nothing.
func (d *deal) unlessBad() error {
	d.jobs.Lock()
	bad := errors.Join(d.bad...)
	left := len(d.leases) - len(d.bad)
	d.p.Bought = d.p.Bought && left > 0
	d.jobs.Unlock()
	if bad == nil {
		return nil
	}
	f := &failure{Code: service.CodeRefused, Reason: bad.Error(), Cause: bad}
	if left > 0 {
		f.Advice = fmt.Sprintf("%s of the order run on: attend them with gantry resume %s, or end them with gantry stop LEASE", service.Plural(left, "other lease"), d.order)
		return f
	}
	f.Advice = "its lease was ended, and what is not billed is free again; order anew, or look at the machine with: gantry audit " + d.leases[0].Address.String()
	return d.over(false, f)
}
