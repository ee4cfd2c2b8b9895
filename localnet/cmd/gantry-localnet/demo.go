package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/demo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "run a whole market in about three minutes and check every sum",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.BoolFlag{Name: "keep", Usage: "leave the node running at the end until Ctrl-C, for audits"},
		},
		Action: func(c *cli.Context) error {
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-demo")
			if err != nil {
				return err
			}
			return demo.Run(c.Context, demo.Options{Engine: kind, Dir: dir, Out: os.Stdout, Log: logger(c), Keep: c.Bool("keep")})
		},
	}
}
