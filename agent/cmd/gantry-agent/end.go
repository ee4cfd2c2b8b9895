package main

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"
)

func endCommand() *cli.Command {
	return &cli.Command{
		Name: "end", Usage: "end a running lease: at once where its price fell because its award was unjust, else after a notice",
		ArgsUsage: "LEASE",
		Flags:     commonFlags(),
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return usage(errors.New("give the lease's address"))
			}
			lease, err := solana.PublicKeyFromBase58(c.Args().First())
			if err != nil {
				return usage(fmt.Errorf("lease %q: %w", c.Args().First(), err))
			}
			s, err := open(c, false)
			if err != nil {
				return err
			}
			defer s.close()
			return s.commands.End(c.Context, lease)
		},
	}
}
