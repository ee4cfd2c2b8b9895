package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func acceptTermsCommand() *cli.Command {
	return &cli.Command{
		Name: "accept-terms", Usage: "accept new thresholds of the node's model that the agent did not accept, because the machine may not reach them",
		Flags: commonFlags(),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("accept-terms takes no argument (got %q)", c.Args().First()))
			}
			s, err := open(c, false)
			if err != nil {
				return err
			}
			defer s.close()
			return s.commands.AcceptTerms(c.Context)
		},
	}
}
