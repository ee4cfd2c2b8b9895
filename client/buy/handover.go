package buy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// start brings the job to every machine and waits until all leases run.
func (d *deal) start() error {
	if err := d.regroup(); err != nil {
		return err
	}
	limit := market.Seconds(d.mk.Params.StartDeadlineSecs) + 10*time.Second
	ctx, cancel := context.WithTimeout(d.ctx, limit)
	defer cancel()
	stop := d.b.waiting(Wait{For: WaitStart, Order: d.order})
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	if !d.p.Joins.IsZero() { // the others must know the new machines before these call them
		g.Go(func() error {
			tctx, cancel := context.WithTimeout(gctx, tellsWithin)
			defer cancel()
			d.tellGroup(tctx)
			return nil
		})
	}
	for _, l := range d.leases {
		if l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning {
			g.Go(func() error {
				err := d.startOne(gctx, l)
				var bad *badMachine
				if errors.As(err, &bad) { // the others go on
					d.jobs.Lock()
					d.bad = append(d.bad, err)
					d.jobs.Unlock()
					return nil
				}
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		if d.ctx.Err() != nil {
			return interrupted(fmt.Sprintf("interrupted before the job was handed over; %s of order %s are awarded", service.Plural(len(d.leases), "lease"), d.order),
				d.withoutJob())
		}
		return d.withLeases(err)
	}
	return d.unlessBad()
}

// handOver brings the job to a machine and waits until its lease runs.
func (d *deal) handOver(ctx context.Context, l market.Lease) error {
	credential, err := registryCredential(ctx, d.r.job.Image, d.b.registryOf(&d.p))
	if err != nil {
		return err
	}
	if err := d.assignVolume(ctx, l); err != nil {
		return err
	}
	volume, err := d.volumeSecrets(ctx, l.Address)
	if err != nil {
		return err
	}
	f, err := d.b.folderOf(ctx, l.Customer)
	if err != nil {
		return err
	}
	revoked, err := f.Revoked(l.Order)
	if err != nil {
		return err
	}
	if _, err := d.deploy(ctx, l, credential, volume, revoked); err != nil {
		var refusal *service.RefusedByNode
		if errors.As(err, &refusal) && refusal.Why == messages.LeaseOver {
			return d.overOnChain(ctx, l)
		}
		if errors.As(err, &refusal) {
			return refusedJob(l, refusal)
		}
		var bad *badMachine
		if errors.As(err, &bad) {
			return err
		}
		why := strings.ReplaceAll(err.Error(), "\n", "; ") // of all ways that were tried
		return network(fmt.Sprintf("the machine of lease %s cannot be reached: %s", l.Address, why), "", err)
	}
	d.jobs.Lock()
	d.p.Bought = true
	err = d.held.Write(d.p)
	d.jobs.Unlock()
	if err != nil {
		return err
	}
	halt := sync.OnceFunc(d.besideFetch(ctx, l, credential, volume))
	defer halt()
	rctx, cancel := context.WithCancel(ctx)
	var keys sync.WaitGroup
	defer keys.Wait()
	defer cancel()
	wctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	if volume.key != nil {
		keys.Go(func() {
			var refusal *service.RefusedByNode
			if errors.As(d.keepKey(rctx, l, volume), &refusal) && refusal.Why != messages.LeaseOver {
				refuse(refusedJob(l, refusal))
			}
		})
	}
	var cur market.Lease
	var ok bool
	err = d.v.WaitFor(wctx, func(v *view.View) bool {
		cur, ok = v.Lease(l.Address)
		return !ok || cur.State() != market.LeaseAwarded
	})
	if err != nil && ctx.Err() == nil && wctx.Err() != nil {
		return context.Cause(wctx)
	}
	if err == nil && !ok {
		return d.unserved(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("lease %s did not start: %w", l.Address, err)
	}
	keys.Wait() // a lease that has started on chain may still wait for the key
	cur.Node = l.Node
	halt() // nothing is told of the image once the lease runs
	d.b.tell(Running{Lease: cur, After: time.Since(d.began), Ports: d.r.ports})
	d.expose(cur)
	return nil
}

// errJobRefused: a machine refuses the job that was ordered, now and later.
var errJobRefused = errors.New("the machine refuses the job")

func refusedJob(l market.Lease, refusal *service.RefusedByNode) error {
	return &failure{
		Code: service.CodeRefused, Reason: fmt.Sprintf("the machine of lease %s refuses the job: %s", l.Address, printable.Text(refusal.Why)),
		Advice: "its lease does not start, and what is reserved comes back, except for the seconds in which the machine was kept: order anew, with another job or from another machine",
		Cause:  fmt.Errorf("%w: %w", errJobRefused, refusal),
	}
}

// besideFetch does what is needed while the machine fetches the image, until end is called, which waits.
func (d *deal) besideFetch(ctx context.Context, l market.Lease, c *messages.RegistryCredential, v volumeSecrets) (end func()) {
	var work []func(context.Context)
	if c != nil {
		work = append(work, func(ctx context.Context) { d.renewCredential(ctx, l, v) })
	}
	if d.r.job.Image != "" && d.b.o.OnEvent != nil {
		work = append(work, func(ctx context.Context) { d.watchImage(ctx, l) })
	}
	return beside(ctx, work...)
}

// beside does work until end is called, which waits.
func beside(ctx context.Context, work ...func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, f := range work {
		wg.Go(func() { f(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// renewEvery is less than a token lives at any known registry.
const renewEvery = 40 * time.Second

// renewCredential gives the machine fresh tokens while it fetches the image, because a large one takes longer than a
// token lives. Failures are left to the machine, which tells the customer what its registry says.
func (d *deal) renewCredential(ctx context.Context, l market.Lease, volume volumeSecrets) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		credential, err := registryCredential(ctx, d.r.job.Image, d.b.registryOf(&d.p))
		if err == nil {
			_, err = d.deploy(ctx, l, credential, volume, 0)
		}
		if err != nil && ctx.Err() == nil {
			d.b.log.Warn().Err(err).Msg("the machine got no fresh token for the registry")
		}
	}
}

// imageEvery is how often a machine is asked how far the image is.
const imageEvery = time.Second

// watchImage tells how far the machine has fetched the image, until ctx ends. A machine that does not answer is asked again.
func (d *deal) watchImage(ctx context.Context, l market.Lease) {
	var last *service.Image
	for wait.For(ctx, imageEvery) == nil {
		st, err := d.remote.Status(ctx, l)
		if err != nil || ctx.Err() != nil {
			continue
		}
		if now := service.DescribeJob(&l, st).Image; now != nil && (last == nil || *now != *last) {
			last = now
			d.b.tell(Fetching{Lease: l, Image: *now})
		}
	}
}

// withLeases adds the present state of the leases to an error.
func (d *deal) withLeases(err error) error {
	f := classify(err)
	if errors.Is(err, errJobRefused) { // the machine would refuse it again
		if n := len(d.leases); n > 1 {
			f.Advice += fmt.Sprintf("; the order has %d leases, and the others are billed from their start on: end them with gantry stop LEASE", n)
		}
		return f
	}
	if f.Advice != "" {
		f.Advice += "; "
	}
	cur, ok := d.v.Lease(d.leases[0].Address)
	switch {
	case !ok:
		f.Advice += "the lease is closed: gantry audit " + d.leases[0].Address.String()
	case cur.State() == market.LeaseAwarded:
		f.Advice += d.withoutJob()
	default:
		f.Advice += fmt.Sprintf("the lease is %s: gantry leases, gantry stop %s", cur.State(), cur.Address)
	}
	return f
}
