package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
)

// deployment is a running deploy command.
type deployment struct {
	s      *session
	v      *view.View
	mk     market.Market
	r      request
	order  solana.PublicKey
	leases []market.Lease
	remote *remote
	out    deployJSON
	began  time.Time
	jobs   sync.Mutex // guards out.Leases
}

// deployJSON is what deploy prints with --json.
type deployJSON struct {
	Order    string      `json:"order"`
	Reserved string      `json:"reserved"`
	MaxPrice string      `json:"maxPricePerGpuHour"`
	Seconds  uint32      `json:"seconds"`
	Sealed   bool        `json:"sealed,omitempty"`
	Tx       sent        `json:"transaction"`
	Leases   []leaseJSON `json:"leases"`
	Rerun    *rerunJSON  `json:"rerun,omitempty"`
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
	v, err := s.live()
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
	d := &deployment{s: s, v: v, mk: mk, r: r, order: market.OrderAddress(customer, r.args.Nonce), began: time.Now()}
	if err := d.checkCredits(); err != nil {
		return err
	}
	if err := d.checkNodes(); err != nil {
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
	if d.remote, err = s.dial(v); err != nil {
		return d.withLeases(err)
	}
	if err := d.start(); err != nil {
		return err
	}
	if s.cli.Bool("detach") {
		return d.finish(nil)
	}
	return d.attend()
}

// checkCredits compares the reservation with the free credits.
func (d *deployment) checkCredits() error {
	c, _, err := d.s.credits(d.r.args.Customer)
	if err != nil {
		return err
	}
	if k, ok := c.SessionKeyOf(d.r.args.Authority); ok && d.r.cost > market.USDC(k.Cap-min(k.Cap, k.Spent)) {
		return refused(fmt.Sprintf("order refused: %s USDC needed, %s of the session key's %s are left", d.r.cost,
			market.USDC(k.Cap-min(k.Cap, k.Spent)), market.USDC(k.Cap)), "the customer raises it with: gantry session add, or lower --hours / --max-price")
	}
	if d.r.cost <= c.Free() {
		return nil
	}
	missing := d.r.cost - c.Free()
	return refused(fmt.Sprintf("order refused: %s USDC needed, %s free%s", d.r.cost, c.Free(), reservedBy(c)),
		fmt.Sprintf("add %s with: gantry credits add %s      or lower --hours / --max-price", missing, missing))
}

// checkNodes looks for nodes that could be awarded now, so that an order without a suitable node is never placed.
func (d *deployment) checkNodes() error {
	now, err := d.s.now()
	if err != nil {
		return err
	}
	if d.mk.Paused&market.PauseOrders != 0 {
		return market.Refusal(market.CodeOrdersPaused)
	}
	order := market.Order{Meta: market.Meta{Address: d.order}}
	order.Status, order.AwardDeadline = uint8(market.OrderOpen), now+1
	order.MaxPrice, order.GpusPerNode, order.Requirement = uint64(d.r.args.MaxPrice), d.r.args.GPUsPerNode, d.r.args.Requirement
	mk := d.mk
	mk.Paused = 0
	fit := 0
	why := map[string]int{}
	cheapest := uint64(0)
	for _, n := range d.v.Nodes() {
		m, ok := d.v.Model(n.Spec.Model)
		p, known := d.v.Provider(n.Provider)
		if !ok || !known || m.Id != d.r.model.Id {
			continue
		}
		suits := market.Awardable
		if d.r.args.Sealed { // the node bids a price of its own
			suits = market.Biddable
		}
		err := suits(&mk, &order, &n, &p, &m, now)
		if err == nil {
			fit++
			continue
		}
		why[unsuitable(err)]++
		if market.Is(err, market.CodePriceTooHigh) && (cheapest == 0 || n.Price < cheapest) {
			cheapest = n.Price
		}
	}
	if fit >= int(d.r.args.Nodes) {
		return nil
	}
	advice := "see: gantry search gpu=" + d.r.model.ModelName()
	switch {
	case cheapest != 0 && len(why) == 1:
		advice = fmt.Sprintf("the lowest ask is %s USDC per GPU-hour: raise --max-price, or wait", market.PricePerHour(cheapest))
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.AllowSimulated == 0:
		advice = "on a local network pass --allow-simulated; " + advice
	}
	return refused(fmt.Sprintf("order refused: %s can serve %d×%s now, %d needed%s", plural(fit, "node"), d.r.args.GPUsPerNode,
		d.r.model.ModelName(), d.r.args.Nodes, unfitReasons(why)), advice)
}

// place sends the order.
func (d *deployment) place() error {
	if d.r.noPrice {
		d.s.say(" · price    at most %s USDC per GPU-hour, the reference price of %s", d.r.args.MaxPrice, d.r.model.ModelName())
	}
	ixs, err := d.instructions()
	if err != nil {
		return err
	}
	tx, err := d.s.send("order_create", ixs)
	if err != nil {
		return err
	}
	d.out = deployJSON{Order: d.order.String(), Reserved: d.r.cost.String(), MaxPrice: d.r.args.MaxPrice.String(), Seconds: d.r.args.Duration, Sealed: d.r.args.Sealed, Tx: tx, Leases: []leaseJSON{}}
	d.s.say(" ✓ escrow   %s USDC reserved        tx %s", d.r.cost, tx.Signature)
	return nil
}

// instructions create the order and, for a sealed one, open its auction.
func (d *deployment) instructions() ([]solana.Instruction, error) {
	create, err := ix.OrderCreate(d.r.args)
	if err != nil || !d.r.args.Sealed {
		return []solana.Instruction{create}, err
	}
	open, err := ix.AuctionOpen(ix.AuctionOpenArgs{
		Customer: d.r.args.Customer, Authority: d.r.args.Authority, Order: d.order, Auction: d.r.auction, Reveal: d.r.reveal,
	})
	return []solana.Instruction{create, open}, err
}

// award waits until every node of the order is awarded, or the order is over.
func (d *deployment) award() error {
	wait := market.Seconds(d.mk.Params.AwardDeadlineSecs) + 5*time.Second
	if d.r.args.Sealed {
		wait += market.Seconds(d.r.auction + d.r.reveal)
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
		d.leases = v.LeasesOfOrder(d.order)
		gone = seen && (!ok || o.State() == market.OrderExpired || o.State() == market.OrderLapsed)
		return gone || (ok && o.State() == market.OrderAwarded && len(d.leases) == int(d.r.args.Nodes))
	})
	switch {
	case d.s.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("interrupted while order %s waits for its award; it stays open until its deadline", d.order),
			fmt.Sprintf("take it back with: gantry order cancel %s", d.order))
	case err != nil:
		return refused(fmt.Sprintf("order %s was not awarded in time", d.order), fmt.Sprintf("its money comes back when anyone expires it, or with: gantry order cancel %s", d.order))
	case gone:
		return refused(fmt.Sprintf("order %s was not awarded before its deadline", d.order), "its money is free again; try a higher --max-price, or fewer GPUs")
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
		g.Go(func() error { return d.startOne(gctx, l) })
	}
	if err := g.Wait(); err != nil {
		if d.s.ctx.Err() != nil {
			return interrupted(fmt.Sprintf("interrupted before the job was handed over; %s of order %s are awarded", plural(len(d.leases), "lease"), d.order),
				"a lease that does not start in time is refunded in full; see: gantry leases")
		}
		return d.withLeases(err)
	}
	return nil
}

func (d *deployment) startOne(ctx context.Context, l market.Lease) error {
	if _, err := d.remote.deploy(ctx, l, d.r.job); err != nil {
		var refusal *errRefusedByNode
		if errors.As(err, &refusal) {
			return refused(fmt.Sprintf("the machine of lease %s refuses the job: %s", l.Address, refusal.why), "")
		}
		return network(fmt.Sprintf("the machine of lease %s cannot be reached", l.Address), "", err)
	}
	var cur market.Lease
	var ok bool
	err := d.v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok = v.Lease(l.Address)
		return !ok || cur.State() != market.LeaseAwarded
	})
	if err == nil && !ok {
		return refused(fmt.Sprintf("lease %s did not start in time and was aborted", l.Address), "everything reserved for it is free again; try again")
	}
	if err != nil {
		return fmt.Errorf("lease %s did not start: %w", l.Address, err)
	}
	d.s.say(" ✓ running  after %.1f s on %s", time.Since(d.began).Seconds(), short(l.Node))
	return nil
}

// withLeases adds the present state of the leases to an error.
func (d *deployment) withLeases(err error) error {
	f := classify(err)
	if f.advice != "" {
		f.advice += "; "
	}
	cur, ok := d.v.Lease(d.leases[0].Address)
	switch {
	case !ok:
		f.advice += "the lease is closed: gantry audit " + d.leases[0].Address.String()
	case cur.State() == market.LeaseAwarded:
		f.advice += "a lease that does not start in time is refunded in full: gantry leases"
	default:
		f.advice += fmt.Sprintf("the lease is %s: gantry leases, gantry stop %s", cur.State(), cur.Address)
	}
	return f
}

// finish prints the result.
func (d *deployment) finish(done map[solana.PublicKey]messages.LeaseStatus) error {
	now, err := d.s.now()
	if err != nil {
		return err
	}
	failed, accepted := false, 0
	var output [32]byte
	for _, l := range d.leases {
		if cur, ok := d.v.Lease(l.Address); ok {
			l = cur
		}
		j := describeLease(d.v, &l, now)
		if st, ok := done[l.Address]; ok && (st.State == messages.LeaseExited || st.State == messages.LeaseBroken) {
			code := st.ExitCode
			j.ExitCode, j.Detail = &code, st.Detail
			failed = failed || code != 0 || st.State == messages.LeaseBroken
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
	err = d.s.done(d.out, func(w io.Writer) {
		for _, j := range d.out.Leases {
			j.summary(w)
		}
		if d.out.Rerun != nil {
			fmt.Fprintln(w, d.out.Rerun.Text)
		}
	})
	if d.r.args.Redundant && done != nil {
		if err == nil && accepted == 0 {
			err = &failure{code: ExitJobFailed, reason: "no output was that of most machines", advice: "nothing is paid, everything is free again; jobs that are not the same to the bit cannot be redundant"}
		}
		if err == nil && d.out.Rerun != nil && d.out.Rerun.Same != nil && !*d.out.Rerun.Same {
			err = &failure{code: ExitJobFailed, reason: "the two runs have different outputs", advice: "one of them is wrong, or the job is not the same to the bit; a third run may tell: gantry deploy --rerun " + d.order.String()}
		}
		return err // a machine that went wrong is outvoted
	}
	if err == nil && failed {
		return &failure{code: ExitJobFailed, reason: "the job failed", advice: "its output is above; the lease itself was served and is paid"}
	}
	return err
}
