package buy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// attend follows the leases: it prints their output, signs receipts, and waits for the end and the last payment of
// leases that end with their job.
func (d *deal) attend() (*Outcome, error) {
	done := map[solana.PublicKey]messages.LeaseStatus{}
	attended, over := context.WithCancel(d.ctx)
	defer over()
	whole := d.keepsWhole(attended, over)
	g, ctx := errgroup.WithContext(attended)
	for _, l := range d.leases {
		g.Go(func() error {
			st, l, err := d.attendMoves(ctx, l)
			d.jobs.Lock()
			done[l.Address] = st
			d.jobs.Unlock()
			return d.loses(ctx, l, err)
		})
	}
	err := g.Wait()
	whole()
	if d.ctx.Err() == nil && (err == nil || d.p.Short.Broken()) {
		if err = d.whole(d.ctx); err == nil && d.p.Short.Broken() {
			d.out.Reason = service.WhyIncomplete
			return d.finish(done)
		}
	}
	if d.ctx.Err() != nil {
		l := d.leases[len(d.leases)-1].Address
		return nil, interrupted(fmt.Sprintf("detached: lease %s runs on and is paid for", l),
			fmt.Sprintf("attend it again: gantry resume %s      its output: gantry logs -f %s      stop it with: gantry stop %s", d.order, l, l))
	}
	if err != nil {
		return nil, d.withLeases(err)
	}
	return d.finish(done)
}

func (d *deal) attendOne(ctx context.Context, l market.Lease) (messages.LeaseStatus, error) {
	signing, stopSigning := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { d.b.keepSigning(signing, d.remote, l.Address, d.p.Receipts) })
	halt := sync.OnceFunc(func() { stopSigning(); wg.Wait() })
	defer halt()

	out := d.b.output(l, d.r.args.Nodes > 1)
	defer d.renewing(ctx, l)()
	defer d.awaitNotice(ctx, l)()
	defer d.awaitServing(ctx, l)()
	inspected := d.inspecting(ctx, l, halt)
	err := d.followUntilFailed(ctx, l, out)
	if f, ok := out.(interface{ Flush() error }); ok {
		err = errors.Join(err, f.Flush())
	}
	if bad := inspected(); bad != nil {
		return messages.LeaseStatus{}, bad
	}
	if err != nil {
		var refusal *service.RefusedByNode
		if !errors.As(err, &refusal) {
			return messages.LeaseStatus{}, err
		}
		d.b.tell(OutputEnded{Err: err})
	}
	if !d.r.args.NoMigration && d.failed(l.Address) {
		return messages.LeaseStatus{}, nil // the machine is gone, and its job with it
	}
	st := d.lastStatus(ctx, l)
	if d.p.Guest {
		st = d.remote.Ends.ended(l.Address, st)
	}
	if !d.r.args.RunToCompletion {
		if cur, ok := d.v.Lease(l.Address); ok && cur.State() == market.LeaseRunning {
			d.b.tell(Exited{Lease: cur, ExitCode: int(st.ExitCode)})
		}
		return d.interruptedBy(ctx, l, st)
	}
	stop := d.b.waiting(Wait{For: WaitEnd, Order: d.order})
	err = d.v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok := v.Lease(l.Address)
		return !ok || cur.State() == market.LeaseEnded || cur.CanMigrate()
	})
	stop()
	if err != nil {
		return st, err
	}
	halt()
	d.b.lastReceipt(d.ctx, d.remote, l.Address)
	if d.r.args.Redundant {
		err = d.awaitOutputs(ctx, l)
	}
	return st, err
}

// lastStatus asks the machine how the job ended, for a short time.
func (d *deal) lastStatus(ctx context.Context, l market.Lease) messages.LeaseStatus {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		st, err := d.remote.Status(ctx, l)
		if err == nil && st.State != messages.LeaseRunning && st.State != messages.LeaseWaiting {
			return st
		}
		if wait.For(ctx, 200*time.Millisecond) != nil {
			return st
		}
	}
}

// output is where the output of a lease's job goes.
func (b *Buyer) output(l market.Lease, oneOfSeveral bool) io.Writer {
	if b.o.Output == nil {
		return io.Discard
	}
	return b.o.Output(l, oneOfSeveral)
}
