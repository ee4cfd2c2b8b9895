package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/market"
)

func guaranteeCommand() *cli.Command {
	return &cli.Command{
		Name: "guarantee", Usage: "guarantee uptime until a date: more awards until then, and stake lost if the uptime is lower",
		Description: "The machine stays active until then: it can neither sleep nor leave, and its stake stays.\n" +
			"A running guarantee may only grow: a later end, or a higher uptime.",
		Flags: commonFlags(walletFlag(), browserwallet.NewFlag(),
			&cli.DurationFlag{Name: "for", Usage: "`TIME` from now such as 720h (default: the shortest, the market's unstaking cooldown)"},
			&cli.StringFlag{Name: "uptime", Usage: "guaranteed `PERCENT`, 90 to 100 (default: that of the running guarantee)"}),
		Action: runGuarantee,
	}
}

func runGuarantee(c *cli.Context) error {
	guarantee := register.Guarantee{For: c.Duration("for")}
	if text := c.String("uptime"); text != "" {
		var err error
		if guarantee.BPS, err = market.ParsePercent(text); err != nil {
			return usage(fmt.Errorf("--uptime: %w", err))
		}
	}
	s, err := open(c, true)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = s.commands.Guarantee(c.Context, guarantee)
	return err
}
