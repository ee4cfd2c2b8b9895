package main

import (
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/bench/leasebench"
)

func benchLeaseCommand() *cli.Command {
	return &cli.Command{
		Name:  "bench-lease",
		Usage: "measure leases as containers beside OpenSSH and iperf3 (Linux, root)",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.IntFlag{Name: "runs", Value: 10, Usage: "how often each thing is measured"},
			&cli.StringFlag{Name: "sshd", Usage: "OpenSSH's server, `PATH`; its figures are left out without one"},
			reportFlag(),
			&cli.BoolFlag{Name: "inside", Hidden: true, Usage: "this process is in a network namespace of its own"},
		},
		Action: func(c *cli.Context) error {
			if c.Int("runs") < 1 {
				return cli.Exit("--runs must be at least 1", usageError)
			}
			if !c.Bool("inside") {
				return leasebench.Enter(c.Context, append(slices.Clone(os.Args[1:]), "--inside"))
			}
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-bench-lease")
			if err != nil {
				return err
			}
			r, err := leasebench.Run(c.Context, leasebench.Options{
				Engine: kind, Dir: dir, Runs: c.Int("runs"), SSHD: c.String("sshd"), Out: c.App.ErrWriter, Log: logger(c),
			})
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
