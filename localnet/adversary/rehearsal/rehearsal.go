package rehearsal

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
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Options of a rehearsal.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory; logs stay there.
	Dir string
	// Next is a folder with the next build of gantry, gantry-keeper and gantry-agent.
	Next string
	// NextProgram is a build of the program with a later layout of models (migration/program.patch), which the builds in Next read.
	NextProgram string
	// Out gets the steps, for people.
	Out io.Writer
	Log zerolog.Logger
}

// Four keepers have a quorum while one of them is away.
const (
	keepers   = 4
	machines  = 5
	customers = 2
)

// stepTimeout bounds the wait for anything that a step waits for.
const stepTimeout = 90 * time.Second

// rehearsal is one run.
type rehearsal struct {
	o       Options
	net     *network.Network
	view    *view.View
	began   time.Time
	loader  loader
	vault   seed.Wallet // governs after the handover, as the vault of a multisig would
	load    load
	long    market.Lease
	reports reports
}

// step is one thing that operators do, with a check of its outcome.
type step struct {
	what string
	do   func(context.Context) error
}

func (r *rehearsal) steps() []step {
	return []step{
		{"the deployed program is the artifact, byte for byte", r.compareProgram},
		{"customers trade: a lease that stays, and short ones", r.begin},
		{"governance and the program go to the vault, in two steps", r.handOver},
		{"three keepers are upgraded, one after the other", r.upgradeKeepers},
		{"five machines are upgraded, one after the other", r.upgradeMachines},
		{"a parameter changes behind the timelock", r.changeParameter},
		{"the guardian pauses; running leases are paid; the market opens again", r.pauseAndOpen},
		{"the guardian's key is lost and replaced", r.replaceGuardian},
		{"the program is replaced by another build, and brought back", r.replaceProgram},
		{"a keeper's machine is stolen with its key; the wallet names another", r.loseKey},
		{"the program is upgraded; models are migrated to another layout", r.migrateModels},
		{"everything ends: no lease lost, no report missing, no bond touched", r.judge},
	}
}

// Run plays all steps, and ends with the first that fails.
func Run(ctx context.Context, o Options) (err error) {
	r := &rehearsal{o: o, load: load{paused: true}, began: time.Now(), view: view.New(view.Options{Log: o.Log.Level(zerolog.ErrorLevel)})}
	params := seed.Params()
	r.net, err = network.Start(ctx, network.Config{
		Engine: o.Engine, Dir: o.Dir, Keepers: keepers, Customers: customers, Nodes: network.DefaultNodes(machines), Params: &params, Log: o.Log,
		// Measuring takes all processors of this computer in each period. Where the embedded engine stalls, its blocks' times are out
		// of order (docs/roadmap.md), and keepers name different instants.
		KeeperFlags: []string{"--simulate-unmeasured"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.net.Close()) }()
	r.loader = loader{send: r.net.Sender(), chain: r.net.Chain}
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(runCtx)
	g.Go(func() error { return r.view.Run(gctx, view.Source{Client: r.net.Chain}) })
	g.Go(func() error { return r.followReports(gctx) })
	g.Go(func() error {
		defer stop()
		return r.play(gctx)
	})
	if err := g.Wait(); err != nil && !(errors.Is(err, context.Canceled) && ctx.Err() == nil) {
		return fmt.Errorf("%w (logs: %s/logs)", err, r.net.Dir())
	}
	return ctx.Err()
}

// play plays the steps, with short orders beside all but the first and the last.
func (r *rehearsal) play(ctx context.Context) error {
	if err := r.view.Ready(ctx); err != nil {
		return err
	}
	if err := r.hotKeys(ctx); err != nil {
		return err
	}
	if err := r.net.Launch(ctx); err != nil {
		return err
	}
	// The next builds are named before customers' commands look up theirs.
	for _, k := range r.net.Keys.Keepers {
		r.net.UseBuild(k.Name, r.o.Next)
	}
	for _, m := range r.net.Nodes {
		r.net.UseBuild(m.Name, r.o.Next)
	}
	for _, c := range r.net.Keys.Customers {
		r.net.UseBuild(c.Name, r.o.Next)
	}
	steps := r.steps()
	last := len(steps) - 1
	tradeCtx, end := context.WithCancel(ctx)
	defer end()
	g, gctx := errgroup.WithContext(tradeCtx)
	g.Go(func() error { return r.shortOrders(gctx, r.net.Keys.Customers[1]) })
	g.Go(func() error {
		defer end()
		for i, s := range steps[:last] {
			if err := r.one(gctx, i, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return r.one(ctx, last, steps[last])
}

func (r *rehearsal) one(ctx context.Context, i int, s step) error {
	began := time.Now()
	err := s.do(ctx)
	mark := "✓"
	if err != nil {
		mark = "✗"
	}
	fmt.Fprintf(r.o.Out, "%s %2d  %-72s %5.1f s\n", mark, i+1, s.what, time.Since(began).Seconds())
	if err != nil {
		return fmt.Errorf("step %d, %s: %w", i+1, s.what, err)
	}
	return nil
}

// until waits for a condition on the chain's state.
func (r *rehearsal) until(ctx context.Context, what string, cond func(*view.View) bool) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := r.view.WaitFor(ctx, cond); err != nil {
		return fmt.Errorf("not seen within %s: %s: %w", stepTimeout, what, err)
	}
	return nil
}

// poll waits for a condition that no account shows.
func poll(ctx context.Context, what string, cond func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		switch ok, err := cond(); {
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case ok:
			return nil
		}
		if wait.For(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("not seen within %s: %s: %w", stepTimeout, what, ctx.Err())
		}
	}
}

// succeed runs the client, which must succeed.
func (r *rehearsal) succeed(ctx context.Context, w seed.Wallet, args ...string) (network.Output, error) {
	out, err := r.net.Gantry(ctx, w, args...)
	return out, errors.Join(err, out.Err())
}

// refused runs the client, which the market must refuse.
func (r *rehearsal) refused(ctx context.Context, w seed.Wallet, args ...string) error {
	out, err := r.net.Gantry(ctx, w, args...)
	if err != nil {
		return err
	}
	if out.Code == 0 {
		return fmt.Errorf("%s by %s was accepted", out.Command(), w.Name)
	}
	return nil
}
