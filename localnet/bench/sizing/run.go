package sizing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Options of a run; all are required.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory; logs stay there.
	Dir string
	// Machines are the sizes of the markets, one after the other.
	Machines []int
	// For is how long each is measured.
	For time.Duration
	// Period of the market's reports.
	Period time.Duration
	// Gateway are the flags that a gateway needs besides those of the network.
	Gateway []string
	// Out gets progress for people.
	Out io.Writer
	Log zerolog.Logger
}

const (
	keepers = 4
	// alone is up to how many machines have a process each; more share one, and each has its part.
	alone = 8
	// ofOwner is how many machines a provider has.
	ofOwner = 10
	// settling is how long many machines have, once all are registered, until they serve: the first order may meet any of them.
	settling = time.Minute
	// gathering is how long a machine may take to register.
	gathering = 4 * time.Second
)

// Run measures all markets.
func Run(ctx context.Context, o Options) (Result, error) {
	r := Result{Period: o.Period}
	for _, n := range o.Machines {
		m, err := one(ctx, o, n)
		if err != nil {
			return r, fmt.Errorf("a market of %d machines: %w", n, err)
		}
		r.Markets = append(r.Markets, m)
	}
	return r, nil
}

// one measures one market, in which a customer has short jobs run one after the other and another one follows it by a server.
func one(ctx context.Context, o Options, machines int) (m Market, err error) {
	params := seed.Params()
	secs := uint32(o.Period / time.Second)
	params.PeriodSecs = secs
	params.ReportRetentionSecs = 6*secs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	nodes := make([]network.NodeSpec, machines)
	for i := range nodes {
		nodes[i] = network.NodeSpec{
			Name: fmt.Sprintf("node-%d", i+1), Provider: i / ofOwner, GPU: "A100", Region: "us-west-2", Price: market.PricePerHour(1_260_000 + 1_000*i),
		}
	}
	shared := machines > alone
	check := min(max(o.Period/60, 1500*time.Millisecond), time.Minute)
	n, err := network.Start(ctx, network.Config{
		Engine: o.Engine, Dir: o.Dir, Keepers: keepers, Customers: 3, Nodes: nodes, Params: &params, Fleet: shared, Log: o.Log,
		KeeperFlags: []string{"--check-interval", check.String(), "--check-timeout", min(check, 10*time.Second).String(), "--simulate-unmeasured"},
	})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := launch(ctx, n, o); err != nil {
		return m, err
	}
	fmt.Fprintf(o.Out, "%d machines are in the market\n", machines)
	if shared {
		if err := wait.For(ctx, settling); err != nil {
			return m, err
		}
	}
	began := time.Now()
	s, err := newSampler(n, shared)
	if err != nil {
		return m, err
	}
	work, stop := context.WithTimeout(ctx, o.For)
	defer stop()
	g, gctx := errgroup.WithContext(work)
	jobs := 0
	g.Go(func() error { return s.run(gctx) })
	g.Go(func() error {
		for gctx.Err() == nil {
			// A job is finished also when the time is over meanwhile: a command that is interrupted leaves a lease.
			out, err := n.Gantry(context.WithoutCancel(gctx), n.Keys.Customers[2], "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m",
				"--allow-simulated", "--run-to-completion", "--", "sleep", "1")
			if err = errors.Join(err, out.Err()); err != nil {
				return err
			}
			jobs++
		}
		return nil
	})
	if err := g.Wait(); err != nil && work.Err() == nil {
		return m, err
	}
	return Market{Machines: machines, Jobs: jobs, Took: time.Since(began), Uses: s.uses()}, ctx.Err()
}

// launch starts all daemons, and waits until all machines are in the market.
func launch(ctx context.Context, n *network.Network, o Options) error {
	if err := n.LaunchKeepers(ctx); err != nil {
		return err
	}
	if err := n.LaunchAgents(ctx); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(len(n.Nodes))*gathering)
	defer cancel()
	for {
		all := view.New(view.Options{})
		if err := view.Snapshot(soon, n.Chain, all, chain.Confirmed, watch.Scope{}); err != nil {
			return err
		}
		if len(all.Nodes()) == len(n.Nodes) {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-soon.Done():
			return fmt.Errorf("%d of %d machines have registered: %w", len(all.Nodes()), len(n.Nodes), soon.Err())
		}
	}
	for _, c := range n.Keys.Customers {
		out, err := n.Gantry(ctx, c, "credits", "add", "100")
		if err = errors.Join(err, out.Err()); err != nil {
			return err
		}
	}
	if _, err := n.StartServe(ctx, n.Keys.Customers[1], "10"); err != nil {
		return err
	}
	return n.StartGateway(ctx, n.Keys.Customers[0], o.Gateway...)
}
