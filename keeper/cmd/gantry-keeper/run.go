package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/sdk/market"
)

func runCommand() *cli.Command {
	flags := append(commonFlags(), addressFlags()...)
	flags = append(flags, evidenceFlags()...)
	flags = append(flags, &cli.StringFlag{
		Name: "metrics", Value: "127.0.0.1:0", EnvVars: []string{"GANTRY_KEEPER_METRICS"},
		Usage: "`ADDRESS` of /metrics, /healthz and /readyz; port 0 takes any and is written to http.addr in the data folder; \"off\" for none",
	})
	flags = append(flags, &cli.StringFlag{Name: "web-config", Usage: "`FILE` with TLS and passwords for --metrics, in the format of Prometheus's exporters (web.config.file); an address that is not loopback needs one with both", EnvVars: []string{"GANTRY_KEEPER_WEB_CONFIG"}})
	flags = append(flags, &cli.BoolFlag{
		Name: "outage-votes", Value: true, EnvVars: []string{"GANTRY_KEEPER_OUTAGE_VOTES"},
		Usage: "watch nodes with leases that may move, and vote that one is away when it does not answer for seconds. Its leases then move at once (--outage-votes=false: they move after the report of the period)",
	})
	flags = append(flags, &cli.BoolFlag{
		Name: "lines", Value: true, EnvVars: []string{"GANTRY_KEEPER_LINES"},
		Usage: "measure what machines' lines move down and up: 12 MiB with each machine of this keeper's committees a day (--lines=false: none)",
	})
	flags = append(flags, signerFlag(), keeperFlag())
	flags = append(append(flags, simulationFlags()...), gainFlags()...)
	return &cli.Command{
		Name: "run", Usage: "run the keeper until interrupted", Flags: append(flags, timingFlags()...),
		Action: func(c *cli.Context) (err error) {
			conf, err := config(c)
			if err != nil {
				return err
			}
			defer conf.Client.Close()
			conf.Timing, conf.OutageVotes, conf.Lines = timing(c), c.Bool("outage-votes"), c.Bool("lines")
			if err := evidencePolicy(c, &conf); err != nil {
				return err
			}
			if err := gains(c, &conf); err != nil {
				return err
			}
			if conf.Simulation, err = simulation(c); err != nil {
				return err
			}
			if conf.HTTP = c.String("metrics"); conf.HTTP == "off" {
				conf.HTTP = ""
			}
			conf.WebConfig = c.String("web-config")
			if conf.Service, err = service.FromEnv(); err != nil {
				return err
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

func gainFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "token-price", Usage: "what a stake token is worth to you, in `USDC`: buy-backs are sent where they pay (default: none are sent)", EnvVars: []string{"GANTRY_KEEPER_TOKEN_PRICE"}},
		&cli.StringFlag{Name: "least-profit", Value: "0.1", Usage: "lowest profit, in `USDC`, for which a buy-back, or an emission claim of your own provider, is sent"},
	}
}

// gains reads which transactions beyond a keeper's duties pay its operator.
func gains(c *cli.Context, out *daemon.Config) (err error) {
	if text := c.String("token-price"); text != "" {
		if out.TokenPrice, err = market.ParseUSDC(text); err != nil {
			return fmt.Errorf("%w: --token-price: %w", errFlags, err)
		}
	}
	if out.LeastProfit, err = market.ParseUSDC(c.String("least-profit")); err != nil {
		return fmt.Errorf("%w: --least-profit: %w", errFlags, err)
	}
	return nil
}
