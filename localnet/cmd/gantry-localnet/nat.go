package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/bench/nat"
)

func natCommand() *cli.Command {
	return &cli.Command{
		Name:  "nat",
		Usage: "reach a machine behind a home router, in network namespaces (Linux, root)",
		Flags: []cli.Flag{
			verboseFlag(), &cli.StringFlag{Name: "only", Usage: "one `SCENARIO`"}, &cli.BoolFlag{Name: "json", Usage: "print the figures as JSON"},
		},
		Action: func(c *cli.Context) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("own program: %w", err)
			}
			o := nat.Options{Member: []string{self, "nat-member"}, Only: c.String("only"), Out: c.App.Writer, Log: io.Discard}
			if c.Bool("verbose") {
				o.Member, o.Log = append(o.Member, "--verbose"), c.App.ErrWriter
			}
			if c.Bool("json") {
				o.Out = c.App.ErrWriter
			}
			results, err := nat.Run(c.Context, o)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				e := json.NewEncoder(c.App.Writer)
				e.SetIndent("", "  ")
				return e.Encode(results)
			}
			fmt.Fprintf(c.App.Writer, "\n%d scenarios, all as they must be\n", len(results))
			return nil
		},
	}
}

// natMemberCommand is one machine of the lab; `nat` starts it.
func natMemberCommand() *cli.Command {
	return &cli.Command{
		Name: "nat-member", Hidden: true, Flags: []cli.Flag{verboseFlag()},
		Action: func(c *cli.Context) error { return nat.RunMember(c.Context, os.Stdin, c.App.Writer, logger(c)) },
	}
}
