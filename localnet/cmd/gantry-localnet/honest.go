package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/adversary/honest"
)

func honestCommand() *cli.Command {
	usual := honest.Bad(honest.Options{})
	return &cli.Command{
		Name:  "honest",
		Usage: "run honest machines with bad RPC nodes on a busy computer, and look whether one loses stake, a job or its record",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.DurationFlag{Name: "for", Value: time.Hour, Usage: "how long leases are rented"},
			&cli.DurationFlag{Name: "period", Value: 20 * time.Second, Usage: "length of a report period"},
			&cli.IntFlag{Name: "busy", Value: 2, Usage: "how many processes keep a processor busy"},
			&cli.DurationFlag{Name: "lag", Value: usual.Lag, Usage: "how far the RPC node of one machine and of one keeper is behind; that of another machine is a third of it"},
			&cli.Float64Flag{Name: "empty", Value: usual.Empty, Usage: "share of lists of accounts that are empty"},
			&cli.Float64Flag{Name: "null", Value: usual.Null, Usage: "share of reads that are answered by null"},
			&cli.Float64Flag{Name: "disagree", Value: usual.Disagree, Usage: "share of slots at which the RPC node of one machine and of one keeper shows another block"},
			&cli.DurationFlag{Name: "drop", Value: usual.Drop, Usage: "how long WebSockets last on average; 0 for ever"},
			reportFlag(),
		},
		Action: func(c *cli.Context) error {
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-honest")
			if err != nil {
				return err
			}
			r, err := honest.Run(c.Context, honest.Options{
				Engine: kind, Dir: dir, For: c.Duration("for"), Period: c.Duration("period"), Busy: c.Int("busy"), Lag: c.Duration("lag"),
				Empty: c.Float64("empty"), Null: c.Float64("null"), Disagree: c.Float64("disagree"), Drop: c.Duration("drop"),
				Out: c.App.ErrWriter, Log: logger(c),
			})
			if err != nil {
				return err
			}
			if err := writeReport(c, r); err != nil {
				return err
			}
			if err := r.Markdown(c.App.Writer); err != nil {
				return err
			}
			if wrong := r.Wrong(); len(wrong) > 0 {
				return fmt.Errorf("%d things are wrong; logs: %s/logs", len(wrong), dir)
			}
			return nil
		},
	}
}
