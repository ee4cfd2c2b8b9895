package main

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/keeper/daemon"
)

// simulationFlags make a keeper of a local network false.
func simulationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "simulate-omit-bids", Usage: "LOCAL NETWORKS ONLY: acknowledge the sealed bids of `NODE` and leave them out"},
		&cli.BoolFlag{Name: "simulate-unmeasured", Usage: "LOCAL NETWORKS ONLY: measure no node; hundreds of simulated ones then fit one computer"},
		&cli.DurationFlag{Name: "simulate-clock-ahead", Usage: "LOCAL NETWORKS ONLY: work with a clock that is `DURATION` ahead, or behind where it is negative"},
	}
}

// simulation reads them.
func simulation(c *cli.Context) (daemon.Simulation, error) {
	out := daemon.Simulation{ClockAhead: c.Duration("simulate-clock-ahead"), Unmeasured: c.Bool("simulate-unmeasured")}
	if name := c.String("simulate-omit-bids"); name != "" {
		var err error
		if out.OmitBidsOf, err = solana.PublicKeyFromBase58(name); err != nil {
			return out, fmt.Errorf("%w: --simulate-omit-bids %s is not an address", errFlags, name)
		}
	}
	return out, nil
}
