package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/bench/soak"
)

func soakCommand() *cli.Command {
	return &cli.Command{
		Name:  "soak",
		Usage: "run a market for a long time with steady orders and look for what only time shows",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.DurationFlag{Name: "for", Value: 30 * time.Minute, Usage: "how long orders are placed"},
			&cli.IntFlag{Name: "keepers", Value: 3, Usage: "number of keepers"},
			&cli.IntFlag{Name: "nodes", Value: 200, Usage: "number of machines with simulated GPUs, all in one process"},
			&cli.IntFlag{Name: "customers", Value: 8, Usage: "number of customers"},
			&cli.DurationFlag{Name: "order-every", Value: 5 * time.Second, Usage: "time between two orders"},
			&cli.DurationFlag{Name: "period", Value: time.Minute, Usage: "length of a report period"},
			&cli.DurationFlag{Name: "check-every", Value: 15 * time.Second, Usage: "time between two checks of a node by a keeper"},
			&cli.BoolFlag{Name: "inject-faults", Usage: "make the node's answers late, lost, old, broken or missing from time to time, and cut connections"},
			&cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"},
		},
		Action: func(c *cli.Context) error {
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-soak")
			if err != nil {
				return err
			}
			r, err := soak.Run(c.Context, soak.Options{
				Engine: kind, Dir: dir, Keepers: c.Int("keepers"), Nodes: c.Int("nodes"), Customers: c.Int("customers"),
				For: c.Duration("for"), OrderEvery: c.Duration("order-every"), Period: c.Duration("period"),
				CheckEvery: c.Duration("check-every"), InjectFaults: c.Bool("inject-faults"), Out: c.App.ErrWriter, Log: logger(c),
			})
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := json.NewEncoder(c.App.Writer).Encode(r); err != nil {
					return err
				}
			} else {
				r.Print(c.App.Writer)
			}
			wrong := r.Wrong()
			for _, w := range wrong {
				fmt.Fprintln(c.App.ErrWriter, "✗", w)
			}
			if len(wrong) > 0 {
				return fmt.Errorf("%d things are wrong; logs: %s/logs", len(wrong), dir)
			}
			return nil
		},
	}
}
