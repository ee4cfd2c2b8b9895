package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/faults"
)

func repairedCommand() *cli.Command {
	return &cli.Command{
		Name: "repaired", Usage: "say that faults of GPUs that the driver has reported are repaired: the node bids again",
		Flags: commonFlags(),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("repaired takes no argument (got %q)", c.Args().First()))
			}
			cfg, err := settings(c)
			if err != nil {
				return err
			}
			now, err := faults.RepairedNow()
			if err != nil {
				return err
			}
			if err := now.Write(cfg.RepairedPath()); err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, "the driver's earlier reports are forgotten; a fault that is still there will be reported again")
			return nil
		},
	}
}
