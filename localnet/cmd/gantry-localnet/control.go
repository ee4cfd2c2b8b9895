package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/chain"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "show a running market",
		Flags: []cli.Flag{stateFlag(), &cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"}},
		Action: func(c *cli.Context) error {
			dir, err := stateDir(c, "gantry-localnet")
			if err != nil {
				return err
			}
			s, err := network.ReadState(dir)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return json.NewEncoder(c.App.Writer).Encode(s)
			}
			client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.RPC, WS: s.WS}}, Timeout: 3 * time.Second})
			if err != nil {
				return err
			}
			defer client.Close()
			slot, err := client.Slot(c.Context, chain.Confirmed)
			if err != nil {
				return fmt.Errorf("process %d runs, but its node does not answer: %w", s.PID, err)
			}
			explorer, err := client.Explorer(c.Context)
			if err != nil {
				return err
			}
			describe(c.App.Writer, s, dir, explorer)
			fmt.Fprintf(c.App.Writer, "\nrunning as process %d, slot %d\n", s.PID, slot)
			return nil
		},
	}
}

func downCommand() *cli.Command {
	return &cli.Command{
		Name:  "down",
		Usage: "stop a running market",
		Flags: []cli.Flag{stateFlag()},
		Action: func(c *cli.Context) error {
			const stopTimeout = 30 * time.Second
			dir, err := stateDir(c, "gantry-localnet")
			if err != nil {
				return err
			}
			s, err := network.ReadState(dir)
			if err != nil {
				return err
			}
			if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
				return fmt.Errorf("stop process %d: %w", s.PID, err)
			}
			for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				if _, err := network.ReadState(dir); errors.Is(err, network.ErrNotRunning) {
					fmt.Fprintf(c.App.ErrWriter, "stopped; keys and logs stay in %s\n", dir)
					return nil
				}
				if c.Context.Err() != nil {
					return c.Context.Err()
				}
			}
			return fmt.Errorf("process %d has not stopped after %s", s.PID, stopTimeout)
		},
	}
}
