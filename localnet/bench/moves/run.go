package moves

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Options of Run.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory.
	Dir string
	// Runs is how many leases move.
	Runs int
	// Out gets a line for each of them.
	Out io.Writer
	Log zerolog.Logger
}

const (
	keepers = 3
	// perNetwork is how many leases move in one network. A machine that was away serves no more in it: its stake holds a
	// fault, and it gets no work for ten minutes.
	perNetwork = 10
	// spare machines are there at the end of a network's moves: keepers vote only while most others answer.
	spare = 4
)

// Run measures. Error: a move that did not come to pass, or that billed a second twice.
func Run(ctx context.Context, o Options) (*Result, error) {
	r := &Result{Engine: o.Engine, Started: time.Now(), Wanted: o.Runs}
	for first := 0; first < o.Runs; first += perNetwork {
		if err := o.some(ctx, r, min(perNetwork, o.Runs-first)); err != nil {
			return r, fmt.Errorf("after %d moves: %w", len(r.Moves), err)
		}
	}
	return r, nil
}

// some measures count moves in a network of their own.
func (o Options) some(ctx context.Context, r *Result, count int) (err error) {
	params := seed.Params()
	params.PeriodSecs = 3600
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	nodes := network.DefaultNodes(count + spare)
	for i := range nodes { // a lease moves only where it costs no more
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	n, err := network.Start(ctx, network.Config{
		Engine: o.Engine, Dir: filepath.Join(o.Dir, "network"), Keepers: keepers, Customers: 1, Nodes: nodes, Params: &params, Log: o.Log,
	})
	if err != nil {
		return err
	}
	defer func() {
		if closed := n.Close(); err == nil {
			err = closed
		}
	}()
	if err := n.Launch(ctx); err != nil {
		return err
	}
	added, err := n.Gantry(ctx, n.Keys.Customers[0], "credits", "add", "100")
	if err == nil {
		err = added.Err()
	}
	if err != nil {
		return err
	}
	v := view.New(view.Options{Log: o.Log})
	vctx, stop := context.WithCancel(ctx)
	g, vctx := errgroup.WithContext(vctx)
	g.Go(func() error { return v.Run(vctx, view.Source{Client: n.Chain}) })
	defer func() { stop(); _ = g.Wait() }()
	if err := v.Ready(ctx); err != nil {
		return err
	}
	for range count {
		m, err := (&measured{n: n, v: v, rest: 2*time.Second + rand.N(4*time.Second)}).move(ctx)
		if err != nil {
			return err
		}
		r.Moves = append(r.Moves, m)
		fmt.Fprintf(o.Out, "%d of %d: %s\n", len(r.Moves), r.Wanted, m)
	}
	return nil
}
