package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/adversary/rehearsal"
)

func rehearsalCommand() *cli.Command {
	return &cli.Command{
		Name:  "rehearsal",
		Usage: "play what operators do in a year on a market under load: handover, upgrades, a parameter, a pause, lost keys, another program, a migration",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.StringFlag{Name: "next", Usage: "`FOLDER` with the next build of gantry, gantry-keeper and gantry-agent", Required: true},
			&cli.StringFlag{Name: "next-program", Usage: "`FILE` of a build of the program with a later layout of models, which those of --next read: scripts/rehearsal.sh makes it", Required: true},
		},
		Action: func(c *cli.Context) error {
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-rehearsal")
			if err != nil {
				return err
			}
			err = rehearsal.Run(c.Context, rehearsal.Options{
				Engine: kind, Dir: dir, Next: c.String("next"), NextProgram: c.String("next-program"), Out: c.App.Writer, Log: logger(c),
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.App.Writer, "the rehearsal held")
			return err
		},
	}
}
