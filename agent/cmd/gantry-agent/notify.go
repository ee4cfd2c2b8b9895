package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/internal/alert"
)

func notifyTestCommand() *cli.Command {
	return &cli.Command{
		Name: "notify-test", Usage: "send a test notice to every URL of --notify",
		Flags: commonFlags(notifyFlag()),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("notify-test takes no argument (got %q)", c.Args().First()))
			}
			cfg, err := settings(c)
			if err != nil {
				return err
			}
			if len(cfg.Notify) == 0 {
				return usage(fmt.Errorf("no URL for notices; give one with --notify, or below notify: in %s", cfg.File()))
			}
			targets, err := alert.ParseAll(cfg.Notify)
			if err != nil {
				return usage(err)
			}
			if err := alert.Test(c.Context, targets, daemon.NoticeSource()); err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, "a test notice was sent to "+alert.Names(targets))
			return nil
		},
	}
}
