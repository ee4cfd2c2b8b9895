package main

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/bench/moves"
)

func movesCommand() *cli.Command {
	return &cli.Command{
		Name:  "moves",
		Usage: "measure how long leases stand still whose machines are gone",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.IntFlag{Name: "runs", Value: 50, Usage: "how many leases move"},
			reportFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Int("runs") < 1 {
				return cli.Exit("--runs must be at least 1", usageError)
			}
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-moves")
			if err != nil {
				return err
			}
			r, err := moves.Run(c.Context, moves.Options{Engine: kind, Dir: dir, Runs: c.Int("runs"), Out: c.App.ErrWriter, Log: logger(c)})
			if err != nil {
				return err
			}
			if err := writeReport(c, r); err != nil {
				return err
			}
			return r.Markdown(c.App.Writer)
		},
	}
}
