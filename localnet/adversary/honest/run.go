package honest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/bench/soak"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// run is one run.
type run struct {
	o          Options
	net        *network.Network
	view       *view.View
	began      time.Time
	stakes     map[solana.PublicKey]uint64 // of nodes, and bonds of keepers, before the first fault was injected
	seen       *seen
	reports    *soak.Reports
	invariants soak.InvariantChecks
	rentals    rentals
	left       []string // leases and orders that were not closed in time
}

// Run runs the market and returns what it saw. The error is about running it: Result.Wrong judges what was seen.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &run{o: o, view: view.New(view.Options{}), stakes: map[solana.PublicKey]uint64{}, seen: newSeen(), reports: soak.NewReports()}
	if r.net, err = network.Start(ctx, o.config()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.net.Close()) }()
	whole, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(whole)
	g.Go(func() error { return r.view.Run(gctx, view.Source{Client: r.net.Chain}) })
	g.Go(func() error {
		defer stop()
		if err := r.gather(gctx); err != nil {
			return err
		}
		return r.trade(gctx)
	})
	if err := g.Wait(); err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
		return nil, err
	}
	return r.result(ctx)
}

// gather has all members join, while every RPC node is still good.
func (r *run) gather(ctx context.Context) error {
	fmt.Fprintf(r.o.Out, "%s at %s: %d keepers; %d newcomers set up their machines, %d of them to cheat\n",
		r.o.Engine, r.net.At.RPC, keepers, len(r.net.Nodes), len(cheats))
	if err := r.net.LaunchKeepers(ctx); err != nil {
		return err
	}
	if err := r.net.LaunchAgents(ctx); err != nil {
		return err
	}
	if err := r.view.Ready(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.view.WaitFor(limited, func(v *view.View) bool { return len(v.Nodes()) == len(r.net.Nodes) }); err != nil {
		return fmt.Errorf("%d of %d machines are registered: %w", len(r.view.Nodes()), len(r.net.Nodes), err)
	}
	for _, m := range r.net.Nodes {
		r.stakes[m.Address] = stake() // not what the chain shows by now: it may have been slashed already
	}
	for _, k := range r.view.Keepers() {
		r.stakes[k.Address] = k.Bond
	}
	for _, m := range r.o.spoiled() {
		if err := r.net.Spoil(m.name, m.faults); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.o.Out, "all machines are registered; leases are rented for %s beside %d busy processes, while RPC nodes are up to %s behind\n", r.o.For, r.o.Busy, r.o.Lag)
	return nil
}

// trade rents leases for as long as was asked, then waits for what is still to come.
func (r *run) trade(ctx context.Context) (err error) {
	r.began = time.Now()
	end, err := keepBusy(r.net.Dir(), r.o.Busy, r.o.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	work, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(work)
	checker := invariants.NewChecker()
	g.Go(func() error {
		return soak.Every(gctx, invariantsEvery, func(ctx context.Context) error { return r.invariants.Check(ctx, r.net, checker) })
	})
	g.Go(func() error {
		return soak.Every(gctx, lookEvery, func(context.Context) error {
			r.seen.look(r.view, time.Now().Unix()/int64(r.o.Period/time.Second))
			r.reports.Look(r.view, r.o.Period)
			return nil
		})
	})
	g.Go(func() error {
		return soak.Every(gctx, sampleEvery, func(ctx context.Context) error { return r.seen.sample(ctx, r.net, r.names()) })
	})
	g.Go(func() error {
		defer stop()
		if err := r.customers(gctx); err != nil {
			return err
		}
		return r.atRest(gctx)
	})
	return g.Wait()
}

// customers rent until the time is over. Each rents one of the honest machines.
func (r *run) customers(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	until := r.began.Add(r.o.For)
	for i, m := range r.o.machines() {
		g.Go(func() error {
			return rent(gctx, r.net, r.net.Keys.Customers[i], m, until, r.o.Period, &r.rentals)
		})
	}
	return g.Wait()
}

// names are all members with metrics.
func (r *run) names() []string {
	var out []string
	for _, k := range r.net.Keys.Keepers {
		out = append(out, k.Name)
	}
	for _, m := range r.net.Nodes {
		out = append(out, m.Name)
	}
	return out
}

// restTime is how long the last leases may take to be closed, beside some periods.
const restTime = 2 * time.Minute

// atRest waits until everything that was rented has been paid, refunded and closed, and for the faults that follow from the
// last periods. RPC nodes stay as bad as they are meanwhile, and are good in the end.
func (r *run) atRest(ctx context.Context) error {
	fmt.Fprintln(r.o.Out, "no more orders; the last reports and payments are awaited")
	if err := wait.For(ctx, 3*r.o.Period); err != nil {
		return err
	}
	for _, m := range r.o.spoiled() {
		if err := r.net.Spoil(m.name, fault.Faults{}); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, restTime+5*r.o.Period)
	defer cancel()
	err := r.view.WaitFor(limited, func(v *view.View) bool { return len(v.Orders()) == 0 && len(v.Leases()) == 0 })
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		for _, l := range r.view.Leases() {
			r.left = append(r.left, fmt.Sprintf("lease %s is %s", l.Address, l.State()))
		}
		for _, o := range r.view.Orders() {
			r.left = append(r.left, fmt.Sprintf("order %s is %s", o.Address, o.State()))
		}
	}
	return r.net.History()
}

// final reads the market once more, without what a view may have missed.
func (r *run) final(ctx context.Context) (*view.View, invariants.History, error) {
	now := view.New(view.Options{})
	if err := view.Snapshot(ctx, r.net.Chain, now, chain.Confirmed, watch.Scope{}); err != nil {
		return nil, invariants.History{}, err
	}
	past, err := invariants.ReadHistory(ctx, r.net.Chain, nil, 0)
	return now, past, err
}
