package main

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/machine"
)

// machineCommand is what other commands start as a process of its own, the first of new namespaces.
func machineCommand() *cli.Command {
	return &cli.Command{
		Name: "machine", Hidden: true, ArgsUsage: "FILE",
		Usage: "run the machine that a file describes, with its agent, in namespaces of its own",
		Flags: []cli.Flag{&cli.BoolFlag{Name: machine.TryFlag, Usage: "find out whether this computer can run one, and end"}},
		Action: func(c *cli.Context) error {
			if c.Bool(machine.TryFlag) {
				return machine.RunTry()
			}
			if c.Args().Len() != 1 {
				return cli.Exit("machine takes the file that describes it", usageError)
			}
			s, err := machine.Read(c.Args().First())
			if err != nil {
				return err
			}
			return machine.Run(c.Context, s)
		},
	}
}
