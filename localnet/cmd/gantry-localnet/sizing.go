package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/bench/sizing"
	"github.com/gantry-market/gantry/localnet/selfsigned"
)

func sizingCommand() *cli.Command {
	return &cli.Command{
		Name:  "sizing",
		Usage: "measure what daemons take in markets of different sizes (a table for docs/operate/sizing.md)",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.IntSliceFlag{Name: "machines", Value: cli.NewIntSlice(4, 100), Usage: "machines of each market; more than 8 share a process"},
			&cli.DurationFlag{Name: "for", Value: 3 * time.Minute, Usage: "how long each market is measured"},
			&cli.DurationFlag{Name: "period", Value: time.Minute, Usage: "length of a report period"},
		},
		Action: func(c *cli.Context) error {
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-sizing")
			if err != nil {
				return err
			}
			for _, n := range c.IntSlice("machines") {
				if n < 1 {
					return cli.Exit("--machines must be at least 1", usageError)
				}
			}
			const domain = "gw.example"
			cert, key := filepath.Join(dir, "gateway.pem"), filepath.Join(dir, "gateway-key.pem")
			if err := selfsigned.Write(cert, key, "*."+domain); err != nil {
				return err
			}
			r, err := sizing.Run(c.Context, sizing.Options{
				Engine: kind, Dir: dir, Machines: c.IntSlice("machines"), For: c.Duration("for"), Period: c.Duration("period"),
				Gateway: []string{"--domain", domain, "--cert", cert, "--cert-key", key, "--tls", "127.0.0.1:0", "--ssh", "off"},
				Out:     c.App.ErrWriter, Log: logger(c),
			})
			if err != nil {
				return fmt.Errorf("%w; logs: %s/logs", err, dir)
			}
			return r.Markdown(c.App.Writer)
		},
	}
}
