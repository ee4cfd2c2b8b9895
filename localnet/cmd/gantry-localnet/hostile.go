package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/adversary/hostile"
)

func hostileNetworkCommand() *cli.Command {
	return &cli.Command{
		Name:  "hostile-network",
		Usage: "attack keepers and machines from strangers and dishonest members, in network namespaces (Linux, root)",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.DurationFlag{Name: "for", Value: time.Minute, Usage: "how long attackers attack; 10m for acceptance"},
			&cli.StringFlag{Name: "only", Usage: "one `ATTACK`"},
			&cli.StringFlag{Name: "report", Usage: "write the tables to this `FILE`"},
			&cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"},
			&cli.BoolFlag{Name: "inside", Hidden: true, Usage: "this process is the first of its namespaces"},
		},
		Action: hostileNetwork,
	}
}

func hostileNetwork(c *cli.Context) error {
	if !c.Bool("inside") {
		return hostile.Enter(c.Context, append(slices.Clone(os.Args[1:]), "--inside"))
	}
	kind, err := chosenEngine(c)
	if err != nil {
		return err
	}
	dir, err := stateDir(c, "gantry-hostile-network")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own program: %w", err)
	}
	r, err := hostile.Run(c.Context, hostile.Options{
		Engine: kind, Dir: dir, For: c.Duration("for"), Attacker: []string{self, "hostile-attacker"}, Only: c.String("only"),
		Out: c.App.ErrWriter, Log: logger(c),
	})
	if err != nil {
		return err
	}
	if err := showHostile(c, r); err != nil {
		return err
	}
	wrong := r.Wrong()
	for _, w := range wrong {
		fmt.Fprintln(c.App.ErrWriter, "✗", w)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d things are wrong; logs: %s/logs", len(wrong), dir)
	}
	return nil
}

func showHostile(c *cli.Context, r *hostile.Result) error {
	if err := writeReport(c, r); err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	return r.Markdown(c.App.Writer)
}

// hostileAttackerCommand is one attacker; `hostile-network` starts it.
func hostileAttackerCommand() *cli.Command {
	return &cli.Command{
		Name: "hostile-attacker", Hidden: true,
		Action: func(c *cli.Context) error { return hostile.RunAttacker(c.Context, os.Stdin, c.App.Writer) },
	}
}
