package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// run is one soak.
type run struct {
	o          Options
	net        *network.Network
	view       *view.View
	began      time.Time
	orders     orders
	invariants InvariantChecks
	reports    *Reports
	faults     map[string]string // faults in reports; all machines are honest
	samples    map[string][]Sample
	left       []string // orders and leases that were not closed in time
}

// Run runs the soak and returns what it saw. The error is about running it: Result.Wrong judges what was seen.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &run{
		o: o, orders: orders{failures: map[string]int{}}, reports: NewReports(),
		faults: map[string]string{}, samples: map[string][]Sample{}, view: view.New(view.Options{}),
	}
	if r.net, err = r.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.net.Close()) }()
	viewCtx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(viewCtx)
	g.Go(func() error { return r.view.Run(gctx, view.Source{Client: r.net.Chain}) })
	g.Go(func() error {
		defer stop()
		if err := r.gather(gctx); err != nil {
			return err
		}
		return r.soak(gctx)
	})
	if err := g.Wait(); err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
		return nil, err
	}
	return r.result()
}

// start starts node and market, with the same parameters as other local networks but for the period and what follows
// it.
func (r *run) start(ctx context.Context) (*network.Network, error) {
	params := seed.Params()
	secs := uint32(r.o.Period / time.Second)
	params.PeriodSecs = secs
	params.ReportRetentionSecs = retained*secs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	params.AwardDeadlineSecs, params.StartDeadlineSecs = awardDeadline, startDeadline
	nodes := make([]network.NodeSpec, r.o.Nodes)
	for i := range nodes {
		nodes[i] = network.NodeSpec{
			Name: fmt.Sprintf("node-%03d", i+1), Provider: i / nodesOfProvider, GPU: "A100", Count: 1,
			Region: "us-west-2", Price: market.PricePerHour(1_260_000 + 1_000*i),
		}
	}
	slot := time.Duration(0)
	if r.o.Engine == engine.Agave {
		slot = publicSlot
	}
	return network.Start(ctx, network.Config{
		Engine: r.o.Engine, SlotTime: slot, Dir: r.o.Dir, Keepers: r.o.Keepers, Customers: r.o.Customers, Nodes: nodes, Params: &params,
		Fleet: true, Relay: r.o.InjectFaults, Log: r.o.Log,
		KeeperFlags: []string{
			"--check-interval", r.o.CheckEvery.String(), "--check-timeout", min(r.o.CheckEvery, 10*time.Second).String(),
			// Work and evidence of hundreds of machines would measure nothing but the processors that they share.
			"--simulate-unmeasured", "--evidence-every", "0",
		},
	})
}

// Deadlines of a real market, in seconds: the short ones of other local networks are for demos that a person watches.
const (
	awardDeadline = 60
	startDeadline = 120
)

// publicSlot is the time between blocks of public clusters. The real validator keeps it too: four times as many blocks,
// as in shorter runs, would keep half of this computer busy with nothing in them.
const publicSlot = 400 * time.Millisecond

// retained is for how many periods a report can be voted on.
const retained = 6

// gatherTime is how long a machine's registration may take, at most.
const gatherTime = 4 * time.Second

func (r *run) gather(ctx context.Context) error {
	fmt.Fprintf(r.o.Out, "%s at %s: %d keepers, %d machines with simulated GPUs in one process, %d customers\n",
		r.o.Engine, r.net.At.RPC, r.o.Keepers, r.o.Nodes, r.o.Customers)
	if err := r.net.LaunchKeepers(ctx); err != nil {
		return err
	}
	if err := r.net.LaunchAgents(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(r.o.Nodes)*gatherTime)
	defer cancel()
	err := r.view.WaitFor(limited, func(v *view.View) bool { return len(v.Nodes()) == r.o.Nodes })
	if err != nil {
		return fmt.Errorf("%d of %d machines are registered; log of the others: %s: %w", len(r.view.Nodes()), r.o.Nodes, r.net.LogPath(network.FleetName), err)
	}
	fmt.Fprintf(r.o.Out, "all machines are registered; %s of steady orders begin, one every %s\n", r.o.For, r.o.OrderEvery)
	return nil
}

// soak places orders for as long as was asked, then waits for what is still to come.
func (r *run) soak(ctx context.Context) error {
	r.began = time.Now()
	work, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(work)
	checker := invariants.NewChecker()
	g.Go(func() error {
		return Every(gctx, invariantsEvery, func(ctx context.Context) error { return r.invariants.Check(ctx, r.net, checker) })
	})
	g.Go(func() error { return Every(gctx, reportsEvery, r.look) })
	g.Go(func() error { return Every(gctx, samplesEvery, r.sample) })
	g.Go(func() error {
		defer stop()
		end := r.injectFaults(gctx)
		if err := errors.Join(r.trade(gctx), end()); err != nil {
			return err
		}
		fmt.Fprintln(r.o.Out, "no more orders; the last reports and refunds are awaited")
		if err := wait.For(gctx, 3*r.o.Period); err != nil {
			return err
		}
		return r.atRest(gctx)
	})
	return g.Wait()
}

// atRest waits until no order and no lease is left: everything that was awarded has been paid, refunded and closed.
func (r *run) atRest(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, restTime+5*r.o.Period)
	defer cancel()
	err := r.view.WaitFor(limited, func(v *view.View) bool { return len(v.Orders()) == 0 && len(v.Leases()) == 0 })
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, l := range r.view.Leases() {
		r.left = append(r.left, fmt.Sprintf("lease %s is %s", l.Address, l.State()))
	}
	for _, o := range r.view.Orders() {
		r.left = append(r.left, fmt.Sprintf("order %s is %s", o.Address, o.State()))
	}
	return nil
}

// restTime is how long the last leases may take to be closed, beside some periods.
const restTime = 2 * time.Minute

// look notes reports that became final and faults that were opened.
func (r *run) look(context.Context) error {
	r.reports.Look(r.view, r.o.Period)
	for _, f := range r.view.Faults() {
		r.faults[f.Address.String()] = fmt.Sprintf("fault %s of node %s in period %d", f.Address, f.Fault.Node, f.Fault.Period)
	}
	return nil
}

func (r *run) sample(ctx context.Context) error {
	for _, k := range r.net.Keys.Keepers {
		url, err := r.net.Metrics(k.Name)
		if err != nil {
			return err
		}
		s, err := Scrape(ctx, url)
		if err != nil {
			if ctx.Err() == nil {
				r.o.Log.Warn().Err(err).Str("keeper", k.Name).Msg("metrics of a keeper cannot be read")
			}
			continue
		}
		r.samples[k.Name] = append(r.samples[k.Name], s)
	}
	return nil
}

// trade hands out turns to customers at a cadence.
func (r *run) trade(ctx context.Context) error {
	turns := make(chan bool)
	g, gctx := errgroup.WithContext(ctx)
	for _, c := range r.net.Keys.Customers {
		g.Go(func() error { return customer(gctx, r.net, c, turns, &r.orders) })
	}
	g.Go(func() error {
		defer close(turns)
		end := time.NewTimer(r.o.For)
		defer end.Stop()
		tick := time.NewTicker(r.o.OrderEvery)
		defer tick.Stop()
		for {
			select {
			case turns <- rand.IntN(2) == 0:
			default:
				r.orders.count(func(o *orders) { o.waited++ })
			}
			select {
			case <-gctx.Done():
				return gctx.Err()
			case <-end.C:
				return nil
			case <-tick.C:
			}
		}
	})
	return g.Wait()
}
