package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/internal/service"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "serve keepers and customers until stopped; running jobs outlive the agent and are found again",
		Flags: commonFlags(append(slices.Concat(machineFlags(), leaseFlags(), guestFlags(), costFlags(), hoursFlags(), simulationFlags()),
			&cli.StringSliceFlag{Name: "listen", Usage: "`MULTIADDRESS` to listen at; may be repeated (default: any port; of this machine only on local networks)", EnvVars: []string{"GANTRY_LISTEN"}},
			&cli.StringFlag{Name: "metrics", Usage: "`ADDRESS` of /metrics, /healthz and /readyz; port 0 takes any and is written to http.addr in the data folder; \"off\" for none", Value: "127.0.0.1:0", EnvVars: []string{"GANTRY_METRICS"}},
			&cli.StringFlag{Name: "web-config", Usage: "`FILE` with TLS and passwords for --metrics, in the format of Prometheus's exporters (web.config.file); an address that is not loopback needs one with both", EnvVars: []string{"GANTRY_WEB_CONFIG"}},
			notifyFlag(),
			priceFlag("pricing policy: auto and auto:FLOOR follow the market; a fixed price is set by register and update"),
			&cli.DurationFlag{Name: "settle-interval", Usage: "`TIME` between settlements of a running lease (default: 15m, 5s on local networks)"},
			&cli.DurationFlag{Name: "report-dead-after", Usage: "`TIME` for which the driver must call a GPU lost before the agent reports its death on chain. That costs a part of the stake and 30 days without work; negative: never (default: 30s)", EnvVars: []string{"GANTRY_REPORT_DEAD_AFTER"}},
		)...),
		Action: func(c *cli.Context) error {
			if c.Args().Len() > 0 {
				return usage(fmt.Errorf("run takes no argument (got %q)", c.Args().First()))
			}
			cfg, err := settings(c)
			if err != nil {
				return err
			}
			if c.IsSet("metrics") || cfg.Metrics == "" {
				cfg.Metrics = c.String("metrics")
			}
			if cfg.Metrics == "off" {
				cfg.Metrics = ""
			}
			if c.IsSet("web-config") {
				cfg.WebConfig = c.String("web-config")
			}
			manager, err := service.FromEnv()
			if err != nil {
				return err
			}
			log, err := logger(c)
			if err != nil {
				return err
			}
			agent, err := daemon.New(daemon.Options{Config: cfg, Log: log, Service: manager})
			if err != nil {
				return err
			}
			return agent.Run(c.Context)
		},
	}
}
