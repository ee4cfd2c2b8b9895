package hostile

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
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ErrUnavailable: this machine cannot make such a network.
var ErrUnavailable = errors.New("not available on this machine")

// Options of Run.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory; logs stay there.
	Dir string
	// For is how long attackers attack.
	For time.Duration
	// Attacker is the command of a process that calls RunAttacker.
	Attacker []string
	// Only names one attack; empty for all.
	Only string
	Out  io.Writer // progress, for people
	Log  zerolog.Logger
}

const (
	quietShare  = 3 // the quiet time is a third of that of the attacks
	quietLeast  = 30 * time.Second
	quietMost   = 2 * time.Minute
	afterwards  = 20 * time.Second
	turnShort   = 4 * time.Second
	turnLong    = 10 * time.Second
	sampleEvery = 500 * time.Millisecond
)

// suite is one run.
type suite struct {
	o        Options
	net      *network.Network
	view     *view.View
	honest   *honest
	sampler  *sampler
	machines []attackingMachine
	result   *Result
}

// Run makes the market and its attackers in the namespaces of this process, and returns what it saw. The error is about
// running it: Result.Wrong judges what was seen. Errors: ErrUnavailable.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	s := &suite{o: o, view: view.New(view.Options{}), result: &Result{For: o.For, Attacks: map[string]Count{}}}
	if err := furnish(ctx, honestAddrs()); err != nil {
		return nil, err
	}
	if s.net, err = s.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.net.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.view.Run(gctx, view.Source{Client: s.net.Chain}) })
	g.Go(func() error {
		defer stop()
		if err := s.gather(gctx); err != nil {
			return err
		}
		return s.measure(gctx)
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err := s.honest.result(s.result); err != nil {
		return nil, err
	}
	return s.result, s.restarts()
}

// measure watches the market while it is quiet, under attack and afterwards; honest customers go on all the time.
func (s *suite) measure(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(work)
	g.Go(func() error { return s.honest.run(gctx) })
	g.Go(func() error { return s.sampler.run(gctx) })
	g.Go(func() error {
		defer stop()
		quiet := min(max(s.o.For/quietShare, quietLeast), quietMost)
		fmt.Fprintf(s.o.Out, "quiet for %s\n", quiet)
		s.sampler.phase(Quiet)
		_ = wait.For(gctx, quiet)
		fmt.Fprintf(s.o.Out, "%d attackers for %s\n", len(s.machines)-1, s.o.For)
		s.sampler.phase(Attacked)
		s.honest.attacked(true)
		if err := errors.Join(s.bombs(true), s.attack(gctx), s.bombs(false)); err != nil {
			return err
		}
		s.honest.attacked(false)
		s.sampler.phase(After)
		_ = wait.For(gctx, afterwards)
		return gctx.Err()
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.result.Use = s.sampler.use()
	return nil
}

// restarts fails when a daemon ended.
func (s *suite) restarts() error {
	for _, name := range s.sampler.names() {
		n, err := s.net.Restarts(name)
		if err != nil {
			return err
		}
		if n > 0 {
			s.result.Ended = append(s.result.Ended, name)
		}
	}
	return nil
}
