package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/keeper/node"
)

func runCommand() *cli.Command {
	flags := append(commonFlags(), addressFlags()...)
	flags = append(flags, evidenceFlags()...)
	flags = append(flags, &cli.StringFlag{
		Name: "metrics", Value: "127.0.0.1:0", EnvVars: []string{"GANTRY_KEEPER_METRICS"},
		Usage: "loopback `ADDRESS` of /metrics, /healthz and /readyz; port 0 takes any and is written to http.addr in the data folder; \"off\" for none",
	})
	return &cli.Command{
		Name: "run", Usage: "keep until interrupted", Flags: append(flags, timingFlags()...),
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
			if conf.HTTP = c.String("metrics"); conf.HTTP == "off" {
				conf.HTTP = ""
			}
			k, err := node.Open(c.Context, conf)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, k.Close()) }()
			return k.Run(c.Context)
		},
	}
}
