package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/keeper/daemon"
)

func runCommand() *cli.Command {
	flags := append(commonFlags(), addressFlags()...)
	flags = append(flags, evidenceFlags()...)
	flags = append(flags, &cli.StringFlag{
		Name: "metrics", Value: "127.0.0.1:0", EnvVars: []string{"GANTRY_KEEPER_METRICS"},
		Usage: "loopback `ADDRESS` of /metrics, /healthz and /readyz; port 0 takes any and is written to http.addr in the data folder; \"off\" for none",
	})
	flags = append(flags, &cli.StringFlag{
		Name: "simulate-omit-bids", Usage: "LOCAL NETWORKS ONLY: acknowledge the sealed bids of `NODE` and leave them out",
	})
	flags = append(flags, &cli.DurationFlag{
		Name: "simulate-clock-ahead", Usage: "LOCAL NETWORKS ONLY: work with a clock that is `DURATION` ahead, or behind where it is negative",
	})
	return &cli.Command{
		Name: "run", Usage: "run the keeper until interrupted", Flags: append(flags, timingFlags()...),
		Action: func(c *cli.Context) (err error) {
			conf, err := config(c)
			if err != nil {
				return err
			}
			defer conf.Client.Close()
			conf.Timing = timing(c)
			if err := evidencePolicy(c, &conf); err != nil {
				return err
			}
			if err := simulation(c, &conf); err != nil {
				return err
			}
			if conf.HTTP = c.String("metrics"); conf.HTTP == "off" {
				conf.HTTP = ""
			}
			k, err := daemon.Open(c.Context, conf)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, k.Close()) }()
			return k.Run(c.Context)
		},
	}
}

// simulation reads what makes a keeper misbehave, which only local networks allow.
func simulation(c *cli.Context, out *daemon.Config) error {
	if ahead := c.Duration("simulate-clock-ahead"); ahead != 0 {
		if !out.Client.Local() {
			return fmt.Errorf("%w: --simulate-clock-ahead serves local networks only", errFlags)
		}
		out.Now = func() time.Time { return time.Now().Add(ahead) }
		out.Log.Warn().Bool("simulated", true).Dur("ahead", ahead).Msg("SIMULATION: this keeper's clock is wrong")
	}
	name := c.String("simulate-omit-bids")
	if name == "" {
		return nil
	}
	if !out.Client.Local() {
		return fmt.Errorf("%w: --simulate-omit-bids serves local networks only", errFlags)
	}
	address, err := solana.PublicKeyFromBase58(name)
	if err != nil {
		return fmt.Errorf("%w: --simulate-omit-bids %s is no address", errFlags, name)
	}
	out.OmitBidsOf = address
	out.Log.Warn().Bool("simulated", true).Str("node", name).Msg("SIMULATION: this keeper leaves bids out")
	return nil
}
