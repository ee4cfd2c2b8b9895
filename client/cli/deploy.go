package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// deployment is a running deploy command.
type deployment struct {
	s        *session
	v        *view.View
	mk       market.Market
	r        request
	order    solana.PublicKey
	leases   []market.Lease
	remote   *remote
	out      deployJSON
	began    time.Time
	jobs     sync.Mutex // guards out.Leases and p
	p        purchase.Purchase
	held     *purchase.Held
	fresh    bool    // this command has begun it
	attached bool    // stay, though it was begun with --detach
	bad      []error // machines that did not pass their measurement; guarded by jobs
}

// deployJSON is what deploy prints with --json.
type deployJSON struct {
	Name     string          `json:"name,omitempty"`
	Order    string          `json:"order"`
	Reserved string          `json:"reserved"`
	MaxPrice string          `json:"maxPricePerGpuHour"`
	Seconds  uint32          `json:"seconds"`
	Sealed   bool            `json:"sealed,omitempty"`
	Tx       sent            `json:"transaction"`
	Leases   []service.Lease `json:"leases"`
	Rerun    *rerunJSON      `json:"rerun,omitempty"`
}

func (s *session) deploy() error {
	mk, _, err := s.open()
	if err != nil {
		return err
	}
	customer, err := s.customer()
	if err != nil {
		return err
	}
	v, err := s.live(s.mine([]solana.PublicKey{customer}, append(view.Kinds(market.KindKeeper, market.KindModel), s.rerunFilters()...)...))
	if err != nil {
		return err
	}
	r, err := s.request(v)
	if err != nil {
		return err
	}
	r.args.Customer = customer
	if r.args.Authority, err = s.authority(); err != nil {
		return err
	}
	s.remind(v, customer)
	d, err := s.beginPurchase(v, mk, r)
	if err != nil {
		return err
	}
	if d.p.Stage == purchase.Over {
		return d.repeat()
	}
	return d.carryOn()
}

// carryOn brings a purchase from where it is to its end.
func (d *deployment) carryOn() error {
	if err := d.readFirst(); err != nil {
		return err
	}
	if err := d.place(); err != nil {
		return err
	}
	if err := d.award(); err != nil {
		return err
	}
	if err := d.checkFresh(); err != nil {
		return err
	}
	if err := d.dial(); err != nil {
		return d.withLeases(err)
	}
	if err := d.start(); err != nil {
		return err
	}
	if err := d.store(purchase.Handed); err != nil {
		return err
	}
	if d.p.Detach && !d.attached {
		d.tellPorts()
		return d.finish(nil)
	}
	stop := d.forwardPorts()
	defer stop()
	return d.attend()
}

// award waits until every node of the order is awarded, or the order is over.
func (d *deployment) award() error {
	wait := market.Seconds(d.mk.Params.AwardDeadlineSecs) + 5*time.Second
	if d.r.args.Sealed {
		wait += market.Seconds(d.r.auction + d.r.reveal)
	}
	if !d.fresh {
		o, exists, err := d.onChain()
		if err != nil {
			return err
		}
		if !exists {
			return d.overMeanwhile()
		}
		if o.State() != market.OrderOpen {
			wait = viewLag
		}
	}
	ctx, cancel := context.WithTimeout(d.s.ctx, wait)
	defer cancel()
	if err := d.sealedWindows(ctx); err != nil {
		return err
	}
	stop := d.s.waiting("the award by a keeper", fmt.Sprintf("Ctrl-C leaves the order; cancel it with: gantry order cancel %s", d.order))
	defer stop()
	var gone, seen bool
	err := d.v.WaitFor(ctx, func(v *view.View) bool {
		o, ok := v.Order(d.order)
		seen = seen || ok
		d.leases = d.toAttend(v.LeasesOfOrder(d.order))
		gone = seen && (!ok || o.State() == market.OrderExpired || o.State() == market.OrderLapsed)
		return gone || (ok && o.State() == market.OrderAwarded && len(d.leases) >= d.expected(&o))
	})
	switch {
	case d.s.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("interrupted while order %s waits for its award; it stays open until its deadline", d.order),
			fmt.Sprintf("go on with: gantry resume %s      take it back with: gantry order cancel %s", d.order, d.order))
	case err != nil:
		return refused(fmt.Sprintf("order %s was not awarded in time", d.order), fmt.Sprintf("its money comes back when anyone expires it, or with: gantry order cancel %s", d.order))
	case gone && len(d.leases) > 0 && !d.fresh:
	case gone && d.p.Bought && len(d.leases) == 0:
		d.p.Bought = false // a machine took the job and never started
		return d.over(false, refused(fmt.Sprintf("the machine of order %s took the job and did not start in time", d.order), "its money is free again; order anew, or go on with: gantry order reopen "+d.order.String()))
	case gone:
		return d.over(false, refused(fmt.Sprintf("order %s was not awarded before its deadline", d.order), "its money is free again; try a higher --max-price, or fewer GPUs"))
	}
	for _, l := range d.leases {
		n, _ := d.v.Node(l.Node)
		full, _ := market.Cost(d.r.args.MaxPrice, l.Gpus, d.r.args.Duration)
		d.s.say(" ✓ award    node %s  %d×%s %s  %s USDC per GPU-hour (%s USDC released)   lease %s", short(l.Node), l.Gpus,
			d.r.model.ModelName(), n.Region(), market.PricePerHour(l.Price), full-market.USDC(l.Lease.Reserved), l.Address)
	}
	return nil
}

// start brings the job to every machine and waits until all leases run.
func (d *deployment) start() error {
	limit := market.Seconds(d.mk.Params.StartDeadlineSecs) + 10*time.Second
	ctx, cancel := context.WithTimeout(d.s.ctx, limit)
	defer cancel()
	stop := d.s.waiting("the machine to take the job and start", "Ctrl-C leaves the lease; stop it with gantry stop")
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
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
		if d.s.ctx.Err() != nil {
			return interrupted(fmt.Sprintf("interrupted before the job was handed over; %s of order %s are awarded", plural(len(d.leases), "lease"), d.order),
				d.withoutJob())
		}
		return d.withLeases(err)
	}
	return d.unlessBad()
}

// handOver brings the job to a machine and waits until its lease runs.
func (d *deployment) handOver(ctx context.Context, l market.Lease) error {
	credential, err := registryCredential(ctx, d.r.job.Image, d.p.Registry)
	if err != nil {
		return err
	}
	volume, err := d.volumeSecrets(l.Address)
	if err != nil {
		return err
	}
	f, err := d.s.grantsOf(l.Customer)
	if err != nil {
		return err
	}
	revoked, err := f.Revoked(l.Order)
	if err != nil {
		return err
	}
	if _, err := d.remote.deploy(ctx, l, d.r.job, credential, volume, revoked); err != nil {
		var refusal *service.RefusedByNode
		if errors.As(err, &refusal) && refusal.Why == messages.LeaseOver {
			return d.overOnChain(ctx, l)
		}
		if errors.As(err, &refusal) {
			return refusedJob(l, refusal)
		}
		return network(fmt.Sprintf("the machine of lease %s cannot be reached", l.Address), "", err)
	}
	d.jobs.Lock()
	d.p.Bought = true
	err = d.held.Write(d.p)
	d.jobs.Unlock()
	if err != nil {
		return err
	}
	rctx, cancel := context.WithCancel(ctx)
	var renewing, keys sync.WaitGroup
	defer renewing.Wait()
	defer keys.Wait()
	defer cancel()
	if credential != nil {
		renewing.Go(func() { d.renewCredential(rctx, l, volume) })
	}
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
		return refused(fmt.Sprintf("lease %s did not start in time and was aborted", l.Address), "everything reserved for it is free again; try again")
	}
	if err != nil {
		return fmt.Errorf("lease %s did not start: %w", l.Address, err)
	}
	keys.Wait() // a lease that has started on chain may still wait for the key
	d.s.say(" ✓ running  after %.1f s on %s", time.Since(d.began).Seconds(), short(l.Node))
	d.howToReach(l.Address.String())
	return nil
}

func refusedJob(l market.Lease, refusal *service.RefusedByNode) error {
	return refused(fmt.Sprintf("the machine of lease %s refuses the job: %s", l.Address, refusal.Why), "a lease whose job cannot run does not start, and its price comes back when the start deadline is over; see: gantry leases")
}

// renewEvery is less than a token lives at any known registry.
const renewEvery = 40 * time.Second

// renewCredential gives the machine fresh tokens while it fetches the image, because a large one takes longer than a token
// lives. Failures are left to the machine, which tells the customer what its registry says.
func (d *deployment) renewCredential(ctx context.Context, l market.Lease, volume volumeSecrets) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		credential, err := registryCredential(ctx, d.r.job.Image, d.p.Registry)
		if err == nil {
			_, err = d.remote.deploy(ctx, l, d.r.job, credential, volume, 0)
		}
		if err != nil && ctx.Err() == nil {
			d.s.log.Warn().Err(err).Msg("the machine got no fresh token for the registry")
		}
	}
}

// withLeases adds the present state of the leases to an error.
func (d *deployment) withLeases(err error) error {
	f := classify(err)
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

// stopped reports whether a job ended because its customer has ended the lease: by the signals that a machine sends then.
func stopped(l *market.Lease, code int32) bool {
	return l.Reason() == market.EndedByCustomer && (code == 128+int32(syscall.SIGTERM) || code == 128+int32(syscall.SIGKILL))
}

// finish prints the result.
func (d *deployment) finish(done map[solana.PublicKey]messages.LeaseStatus) error {
	now, err := d.s.now()
	if err != nil {
		return err
	}
	var failed []string // what of the leases is paid whose jobs failed
	accepted := 0
	var output [32]byte
	for _, l := range d.leases {
		if cur, ok := d.v.Lease(l.Address); ok {
			l = cur
		} else {
			l = d.closedLease(l)
		}
		j := service.DescribeLease(d.v, &l, now)
		if j.Model == "" { // the view holds a node only as long as one of its leases is the customer's
			j.Model = d.r.model.ModelName()
		}
		if st, ok := done[l.Address]; ok && (st.State == messages.LeaseExited || st.State == messages.LeaseBroken) {
			code := st.ExitCode
			j.ExitCode, j.Detail = &code, st.Detail
			if (code != 0 || st.State == messages.LeaseBroken) && !stopped(&l, code) {
				failed = append(failed, j.Billed())
			}
		}
		if d.r.backup != nil && l.CheckpointHash != [32]byte{} {
			d.s.say(" · snapshot %x of the volume of lease %s: go on from it with --restore", l.CheckpointHash, l.Address)
		}
		if market.OutputState(l.Output) == market.OutputAccepted {
			accepted++
			output = l.OutputHash
		}
		d.out.Leases = append(d.out.Leases, j)
	}
	if d.out.Rerun, err = d.compareRuns(output, accepted > 0); err != nil {
		return err
	}
	err = d.printResult()
	if d.r.args.Redundant && done != nil {
		if err == nil && accepted == 0 {
			err = &failure{Code: ExitJobFailed, Reason: "no output was that of most machines", Advice: "nothing is paid, everything is free again; jobs that are not the same to the bit cannot be redundant"}
		}
		if err == nil && d.out.Rerun != nil && d.out.Rerun.Same != nil && !*d.out.Rerun.Same {
			err = &failure{Code: ExitJobFailed, Reason: "the two runs have different outputs", Advice: "one of them is wrong, or the job is not the same to the bit; a third run may tell: gantry deploy --rerun " + d.order.String()}
		}
	} else if err == nil && len(failed) > 0 { // of a redundant job, a machine that went wrong is outvoted
		err = &failure{Code: ExitJobFailed, Reason: "the job failed", Advice: "its output is above; " + strings.Join(failed, "; ")}
	}
	if done == nil {
		return err // it runs on, and can be attended again
	}
	return d.over(true, err)
}

// printResult prints what the command has bought.
func (d *deployment) printResult() error {
	return d.s.done(d.out, func(w io.Writer) {
		for _, j := range d.out.Leases {
			leaseSummary(w, &j)
		}
		if d.out.Rerun != nil {
			fmt.Fprintln(w, d.out.Rerun.Text)
		}
	})
}
