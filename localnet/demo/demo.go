package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/s3server"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ErrExpectations means that the demo came to its end and something in it was not as expected.
var ErrExpectations = errors.New("expectations did not hold")

// Options configure a run.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory; logs stay there.
	Dir string
	// Out gets the steps as text, unless Screen shows them. A file in Dir gets the text always.
	Out io.Writer
	// Screen shows the demo as one screen on a live terminal; nil prints the text.
	Screen *screen.Terminal
	// Log gets what the network does.
	Log zerolog.Logger
	// During is called, if set, when all leases run; tests break things there.
	During func(ctx context.Context, n *network.Network) error
	// Relay puts a relay before the node, see network.Config.
	Relay bool
	// Wait waits for the cool-downs at the end instead of moving the clock of the node.
	Wait bool
	// Keep leaves the node running at the end until the context ends, so that its history can be audited.
	Keep bool
}

// timeout bounds the whole run: a demo that hangs has failed.
const timeout = 5 * time.Minute

type demo struct {
	opts    Options
	net     *network.Network
	view    *view.View
	out     *printer
	story   *story
	facts   facts // for the screen
	expect  *expectations
	checker *invariants.Checker
	since   uint64 // slot before the first step

	audits audits
	// noContainers says why jobs run as processes only; empty where the demo shows containers.
	noContainers string
	// contained is closed when the containers have been ordered, or there are none.
	contained chan struct{}
	// reopened is closed when the market has been paused and is open again.
	reopened chan struct{}
	// bucket is where snapshots of volumes are kept.
	bucket    *s3server.Server
	cooldowns cooldowns
	// unneeded has a channel for each machine, closed when the demo needs the machine no more.
	unneeded map[string]chan struct{}
}

// Run runs the demo. It fails with ErrExpectations, or with why it could not go on.
func Run(parent context.Context, opts Options) (err error) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	start := time.Now()
	d := &demo{opts: opts, expect: &expectations{}, checker: invariants.NewChecker(), out: &printer{out: opts.Out, start: start}, story: newStory(start)}
	if opts.Screen != nil {
		show := startShow(*opts.Screen, func() scene { return d.scene(parent.Err() != nil) })
		defer show.close()
		d.opts.Log, d.out.out = show.above(opts.Log), io.Discard
	}
	defer func() { d.ends(err, parent.Err() != nil) }()
	if err := d.open(ctx); err != nil {
		return err
	}
	defer func() {
		d.facts.note(func(s *scene) { s.stopping = true })
		err = errors.Join(err, d.net.Close(), d.bucket.Close(), d.out.close(err))
	}()
	return d.play(ctx, parent)
}

// play plays the demo on an open network; until ends a wait at its end.
func (d *demo) play(ctx, until context.Context) error {
	before, err := invariants.Take(ctx, d.net.Chain, d.net.Mints())
	if err != nil {
		return err
	}
	balances, err := d.count(ctx, before)
	if err != nil {
		return err
	}
	d.since = before.Slot
	if err := d.run(ctx); err != nil {
		_, failed := d.expect.result()
		for _, f := range failed {
			d.out.plain("✗ " + f)
		}
		return fmt.Errorf("%w (logs: %s/logs)", err, d.net.Dir())
	}
	result := d.conclude(ctx, before, balances)
	if d.opts.Keep {
		lines := []string{"the node stays up at " + d.net.At.RPC + "; Ctrl-C stops it", "  gantry --config " + network.ConfigPath(d.net.Dir()) + " audit …"}
		d.out.plain(lines...)
		d.facts.note(func(s *scene) { s.foot = lines })
		<-until.Done()
		d.facts.note(func(s *scene) { s.foot = nil })
	}
	return result
}

// open starts node, market and the live view of it, and begins the file with the text.
func (d *demo) open(ctx context.Context) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(nodeStarts)
	params := seed.Params()
	params.ReportRetentionSecs = uint32(seed.ShortRetention / time.Second)
	params.AppealSecs = 5 // nobody appeals
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	why, err := withoutContainers(ctx)
	if err != nil {
		return err
	}
	nodes := machines(why == "")
	noVolumes, lacking := runtime.CheckVolumes(), ""
	switch {
	case why != "":
		d.story.without(needsContainers)
		lacking = "no containers: " + why
	case noVolumes != nil:
		d.story.without(needsVolumes)
		lacking = fmt.Sprintf("no container moves: %v", noVolumes)
	}
	d.facts.note(func(s *scene) { s.machines, s.usual, s.lacking = len(nodes), usualTime, lacking })
	d.noContainers, d.contained, d.reopened = why, make(chan struct{}), make(chan struct{})
	if d.bucket, err = s3server.Start(ctx, nil); err != nil {
		return err
	}
	n, err := network.Start(ctx, network.Config{
		Engine: d.opts.Engine, Dir: d.opts.Dir, Log: d.opts.Log, Params: &params, Relay: d.opts.Relay,
		Keepers: keeperCount, Customers: customerCount, Nodes: nodes, Models: seed.Calibrated(), Registry: why == "",
		Reach: []string{strings.TrimPrefix(d.bucket.URL, "http://")},
	})
	if err != nil {
		return errors.Join(err, d.bucket.Close())
	}
	text, err := d.out.keep(n.Dir())
	if err != nil {
		return errors.Join(err, n.Close(), d.bucket.Close())
	}
	d.net = n
	d.facts.note(func(s *scene) { s.text, s.logs = text, filepath.Join(n.Dir(), "logs") })
	d.unneeded = map[string]chan struct{}{}
	for _, m := range n.Nodes {
		d.unneeded[m.Name] = make(chan struct{})
	}
	d.view = view.New(view.Options{Log: d.opts.Log.Level(zerolog.ErrorLevel)})
	d.out.begin(fmt.Sprintf("%s starts: %s", n.EngineKind(), n.At.RPC), "program "+short(market.ProgramID)+" · market, 2 mints, 2 GPU models")
	return nil
}

// run runs all steps, with the live view and the checks of the invariants beside them.
func (d *demo) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return ignoreCancelled(d.view.Run(ctx, view.Source{Client: d.net.Chain})) })
	group.Go(func() error { return ignoreCancelled(d.watchInvariants(ctx)) })
	group.Go(func() error {
		select {
		case <-d.net.Done():
			return errors.New("the Solana node is gone")
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error {
		defer stop()
		if err := d.view.Ready(ctx); err != nil {
			return err
		}
		return d.steps(ctx)
	})
	err := group.Wait()
	return err
}

// steps runs the parts of the demo in order; within the middle part everything happens at once.
func (d *demo) steps(ctx context.Context) error {
	if err := d.gather(ctx); err != nil {
		return err
	}
	d.cooldowns.work(1) // the middle part
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.providersLeave(groupCtx) })
	group.Go(func() error {
		middle, middleCtx := errgroup.WithContext(groupCtx)
		for _, part := range []func(context.Context) error{d.smallJob, d.longLease, d.silentLease, d.falseClaim, d.containers} {
			middle.Go(func() error { return part(middleCtx) })
		}
		if d.opts.During != nil {
			middle.Go(func() error { return d.opts.During(middleCtx, d.net) })
		}
		if err := middle.Wait(); err != nil {
			return err
		}
		return d.leave(groupCtx)
	})
	return group.Wait()
}

// watchInvariants checks the invariants again and again while the demo runs.
func (d *demo) watchInvariants(ctx context.Context) error {
	const pause = 1500 * time.Millisecond
	for {
		s, err := invariants.Take(ctx, d.net.Chain, d.net.Mints())
		switch {
		case errors.Is(err, invariants.ErrRestless):
			// The next reading will do.
		case err != nil:
			return fmt.Errorf("check the invariants: %w", err)
		default:
			d.noteViolations(d.checker.Check(s))
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

func (d *demo) noteViolations(found []invariants.Violation) {
	for _, v := range found {
		d.expect.that(false, v.String())
	}
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func keyList(holders []holder) []solana.PublicKey {
	keys := make([]solana.PublicKey, 0, len(holders))
	for _, h := range holders {
		if !h.vault {
			keys = append(keys, h.key)
		}
	}
	return keys
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}
