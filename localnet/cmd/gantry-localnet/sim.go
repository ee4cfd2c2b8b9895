package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/adversary/sim"
)

func simCommand() *cli.Command {
	return &cli.Command{
		Name:  "sim",
		Usage: "run keepers and machines in virtual time, with faulty and dishonest keepers, and hold the chain against the truth",
		Description: "Everything is a function of the options, seed included: a failure can be played again with the command that is printed\n" +
			"with it. Exit code 1 says that something was paid, slashed, lost or missed that never may be.",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "of the first run; the others count on from it"},
			&cli.IntFlag{Name: "runs", Value: 1, Usage: "how many"},
			&cli.BoolFlag{Name: "random", Usage: "small markets, their sizes and faults drawn by the seed, in place of the options below"},
			&cli.IntFlag{Name: "keepers", Value: 16},
			&cli.IntFlag{Name: "nodes", Value: 2_000},
			&cli.IntFlag{Name: "periods", Value: 30},
			&cli.DurationFlag{Name: "period", Value: time.Minute, Usage: "length of a report period; every node is checked four times in it"},
			&cli.IntFlag{Name: "faults", Value: -1, Usage: "keepers that may be faulty at a time (default f of 3f+1)"},
			&cli.IntFlag{Name: "dishonest", Value: -1, Usage: "keepers of these that collude (default: drawn); more than the market tolerates is allowed, and must fail"},
			&cli.BoolFlag{Name: "clutter", Usage: "dishonest keepers vote before anyone else, each for a root without leaves (default: how they vote is drawn)"},
			&cli.Float64Flag{Name: "loss", Value: 0.01, Usage: "share of packets that the network loses"},
			&cli.DurationFlag{Name: "split", Usage: "cut all keepers in two once, for so long at most (0: never)"},
			&cli.DurationFlag{Name: "endpoint-lag", Usage: "how far the RPC nodes of keepers and machines are behind the chain at most"},
			&cli.Float64Flag{Name: "endpoint-fork", Usage: "share of periods in which one of them shows another block at the instant of measurements"},
			&cli.Float64Flag{Name: "endpoint-mute", Usage: "share of their answers about single accounts that are errors"},
			&cli.IntFlag{Name: "parallel", Value: runtime.GOMAXPROCS(0), Usage: "runs at the same time"},
			&cli.BoolFlag{Name: "json", Usage: "one JSON document for each run on standard output"},
		},
		Action: simulate,
	}
}

// simOptions are those of the i-th run.
func simOptions(c *cli.Context, i int) sim.Options {
	seed := c.Uint64("seed") + uint64(i)
	if c.Bool("random") {
		return sim.Draw(seed)
	}
	o := sim.Options{
		Seed: seed, Keepers: c.Int("keepers"), Nodes: c.Int("nodes"), Periods: c.Int("periods"), Period: c.Duration("period"),
		Faults: c.Int("faults"), Dishonest: c.Int("dishonest"), Clutter: c.Bool("clutter"), Loss: c.Float64("loss"), Split: c.Duration("split"),
		Endpoints: sim.Endpoints{Lag: c.Duration("endpoint-lag"), Fork: c.Float64("endpoint-fork"), Mute: c.Float64("endpoint-mute")},
	}
	if o.Faults < 0 {
		o.Faults = sim.Faultless(o.Keepers)
	}
	return o
}

func simulate(c *cli.Context) error {
	runs := c.Int("runs")
	if runs < 1 || c.Int("parallel") < 1 {
		return cli.Exit("at least one run is needed", usageError)
	}
	failed := 0
	report := func(r *sim.Result) error {
		if r.Failed() {
			failed++
		}
		switch {
		case c.Bool("json"):
			return json.NewEncoder(c.App.Writer).Encode(r)
		case runs == 1:
			return r.WriteText(c.App.Writer)
		}
		fmt.Fprintln(c.App.Writer, r.Line())
		if r.Failed() {
			for _, what := range r.Violations {
				fmt.Fprintln(c.App.Writer, "   ", what)
			}
			fmt.Fprintln(c.App.Writer, "    again:", again(c, r.Options))
		}
		return nil
	}
	err := sim.Each(c.Context, runs, c.Int("parallel"), func(i int) sim.Options { return simOptions(c, i) }, report)
	if err != nil {
		return err
	}
	if runs > 1 && !c.Bool("json") {
		fmt.Fprintf(c.App.Writer, "%d of %d runs failed\n", failed, runs)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d simulated runs show what never may happen; play one again with its seed and options", failed, runs)
	}
	return nil
}

// again is the command that plays a run once more.
func again(c *cli.Context, o sim.Options) string {
	if c.Bool("random") {
		return fmt.Sprintf("gantry-localnet sim --random --seed %d", o.Seed)
	}
	out := fmt.Sprintf("gantry-localnet sim --seed %d --keepers %d --nodes %d --periods %d --period %s --faults %d --dishonest %d --loss %g",
		o.Seed, o.Keepers, o.Nodes, o.Periods, o.Period, o.Faults, o.Dishonest, o.Loss)
	if o.Clutter {
		out += " --clutter"
	}
	if o.Split > 0 {
		out += " --split " + o.Split.String()
	}
	if e := o.Endpoints; e != (sim.Endpoints{}) {
		out += fmt.Sprintf(" --endpoint-lag %s --endpoint-fork %g --endpoint-mute %g", e.Lag, e.Fork, e.Mute)
	}
	return out
}
