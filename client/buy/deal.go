package buy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// deal is a purchase on which a call works.
type deal struct {
	b        *Buyer
	ctx      context.Context // of the call
	v        *view.View
	mk       market.Market
	r        terms
	order    solana.PublicKey
	leases   []market.Lease
	remote   *Remote
	out      Outcome
	began    time.Time
	jobs     sync.Mutex // guards leases, p, bad, lost and sealers
	p        purchase.Purchase
	held     *purchase.Held
	fresh    bool    // this call has begun it
	attached bool    // stay, though it was begun with Detach
	bad      []error // machines that did not pass their measurement
	lost     []error // why members of a group with a least number are not attended any more
	closers  []func()
	// sealers seal what machines get that have proved themselves, by lease; guarded by jobs.
	sealers map[solana.PublicKey]*seal.Sealer
	// exposing are the calls to gateways that are under way; exposed is their context, which stopExposing ends.
	exposing     sync.WaitGroup
	exposed      context.Context
	stopExposing func()
	next         *deal // the order that follows this one; nil for none
}

// Outcome is what a purchase has come to.
type Outcome struct {
	Name     string          `json:"name,omitempty"`
	Order    string          `json:"order"`
	Reserved string          `json:"reserved"`
	MaxPrice string          `json:"maxPricePerGpuHour"`
	Seconds  uint32          `json:"seconds"`
	Sealed   bool            `json:"sealed,omitempty"`
	Tx       service.Sent    `json:"transaction"`
	Leases   []service.Lease `json:"leases"`
	// Earlier are the leases of the orders that this one follows, because their machines have left.
	Earlier []service.Lease `json:"earlierLeases,omitempty"`
	// Image is how the image had started on machines that fit, before the order; nil where that is not known.
	Image *service.ImageRuns `json:"image,omitempty"`
	// Public is what gateways have given to ports of the leases.
	Public []Public `json:"public,omitempty"`
	Rerun  *Rerun   `json:"rerun,omitempty"`
	// Reason is why the machines that were left of a group were ended; empty for a group that was not.
	Reason string `json:"reason,omitempty"`
}

// Buy brings a purchase to its end, or to running leases where the request says Detach. The one of the request's name
// continues where an earlier call ended, also one of another process. What came of it is known together with an error
// where a job failed, or an earlier call has ended it.
func (b *Buyer) Buy(ctx context.Context, r Request) (*Outcome, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := b.canAttend(); err != nil {
		return nil, err
	}
	switch left := r.Detach && !b.o.Attends; {
	case left && r.Migrate:
		return nil, usage("--migrate needs somebody who brings the command to the new machine", "leave --detach out")
	case left && r.MinNodes > 0:
		return nil, usage("--min-nodes needs this command, which ends the machines that are left", "leave --detach out")
	case left && r.UntilStopped:
		return nil, usage("--until-stopped needs this command, which pays for more time", "leave --detach out")
	}
	mk, err := b.market(ctx)
	if err != nil {
		return nil, err
	}
	v, stop, err := b.service.Live(ctx, b.scope(b.customer, append(view.Kinds(market.KindKeeper, market.KindModel), r.rerunFilters()...)...))
	if err != nil {
		return nil, err
	}
	defer stop()
	t, err := b.terms(ctx, mk, v, r)
	if err != nil {
		return nil, err
	}
	for _, u := range b.Unattended(v, b.customer) {
		b.tell(u)
	}
	d, err := b.begin(ctx, v, mk, t)
	if err != nil {
		return nil, err
	}
	return d.runAll()
}

// run brings a purchase from where it is to its end, and lets it go.
func (d *deal) run() (*Outcome, error) {
	defer func() { _ = d.close(nil) }()
	if d.p.Stage == purchase.Over {
		return d.repeat()
	}
	for _, step := range []func() error{d.readFirst, d.place} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for tries := 1; ; tries++ {
		over, err := d.serve()
		if err == nil && over {
			return d.ended(nil)
		}
		if err == nil {
			break
		}
		if err = d.elsewhere(err, tries); err != nil {
			return nil, err
		}
	}
	if err := d.store(purchase.Handed); err != nil {
		return nil, err
	}
	if d.p.Detach && !d.attached {
		return d.finish(nil)
	}
	return d.attend()
}

// close lets the purchase go, and leaves the network. It returns err.
func (d *deal) close(err error) error {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
	return err
}

// serve brings the order to machines that have started. over: its leases were served already.
func (d *deal) serve() (over bool, err error) {
	if over, err := d.award(); over || err != nil {
		return over, err
	}
	if err := d.checkFresh(); err != nil {
		return false, err
	}
	if err := d.dial(); err != nil {
		return false, d.withLeases(err)
	}
	return false, d.start()
}

// ended is the outcome of a purchase that was over when this call came to it.
func (d *deal) ended(err error) (*Outcome, error) {
	if err != nil {
		return nil, err
	}
	return &d.out, nil
}

// award waits until every node of the order is awarded. over: the order is, and its leases were served.
func (d *deal) award() (over bool, err error) {
	wait := market.Seconds(d.mk.Params.AwardDeadlineSecs) + 5*time.Second
	if d.r.args.Sealed {
		wait += market.Seconds(d.r.auction + d.r.reveal)
	}
	if !d.fresh {
		o, exists, err := d.onChain()
		if err != nil {
			return false, err
		}
		if !exists {
			return true, d.overMeanwhile()
		}
		if o.State() != market.OrderOpen {
			wait = viewLag
		}
	}
	ctx, cancel := context.WithTimeout(d.ctx, wait)
	defer cancel()
	if err := d.sealedWindows(ctx); err != nil {
		return false, err
	}
	stop := d.b.waiting(Wait{For: WaitAward, Order: d.order})
	defer stop()
	if err := d.awaitAward(ctx); err != nil {
		return false, err
	}
	soon, cancelSoon := context.WithTimeout(d.ctx, regionWait)
	defer cancelSoon()
	for _, l := range d.leases {
		n, _ := d.node(soon, l) // without it the region is not told
		full, _ := market.Cost(d.r.args.MaxPrice, l.Gpus, market.HeldSecs(d.r.args.Duration, d.mk.Params.StartDeadlineSecs))
		d.b.tell(Awarded{Lease: l, Model: d.r.modelNamed(n.Spec.Model), Region: n.Region(), Released: full - market.USDC(l.Lease.Reserved)})
	}
	return false, nil
}

// awaitAward waits for the leases of the order.
func (d *deal) awaitAward(ctx context.Context) error {
	var gone, seen bool
	err := d.v.WaitFor(ctx, func(v *view.View) bool {
		o, ok := v.Order(d.order)
		seen = seen || ok
		d.leases = d.toAttend(v.LeasesOfOrder(d.order))
		gone = seen && (!ok || o.State() == market.OrderExpired || o.State() == market.OrderLapsed)
		return gone || (ok && o.State() == market.OrderAwarded && len(d.leases) >= d.expected(&o))
	})
	switch {
	case d.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("interrupted while order %s waits for its award; it stays open until its deadline", d.order),
			fmt.Sprintf("continue with: gantry resume %s      take it back with: gantry order cancel %s", d.order, d.order))
	case err != nil:
		return refused(fmt.Sprintf("order %s was not awarded in time", d.order), fmt.Sprintf("its money comes back when anyone expires it, or with: gantry order cancel %s", d.order))
	case gone && len(d.leases) > 0 && !d.fresh:
	case gone && d.p.Bought && len(d.leases) == 0:
		d.p.Bought = false // a machine took the job and never started
		return d.over(false, noMachine(fmt.Sprintf("the machine of order %s took the job and did not start in time", d.order), "its money is free again; order anew, or continue with: gantry order reopen "+d.order.String()))
	case gone:
		return d.over(false, noMachine(fmt.Sprintf("order %s was not awarded before its deadline", d.order), "its money is free again; try a higher --max-price, or fewer GPUs"))
	}
	return nil
}
