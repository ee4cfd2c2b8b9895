package main

import (
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/localnet/fleet"
)

// fleetCommand is what other commands start as a process of its own.
func fleetCommand() *cli.Command {
	return &cli.Command{
		Name: "fleet", Hidden: true, ArgsUsage: "FILE",
		Usage: "run the simulated machines that a file describes, in one process",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "log-json", Usage: "logs as JSON lines"}, verboseFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return cli.Exit("fleet takes the file that describes it", usageError)
			}
			s, err := fleet.Read(c.Args().First())
			if err != nil {
				return err
			}
			log := logger(c)
			if c.Bool("log-json") {
				log = zerolog.New(printable.Writer(c.App.ErrWriter)).With().Timestamp().Logger().Level(zerolog.InfoLevel)
			}
			return fleet.Run(c.Context, s, log)
		},
	}
}
