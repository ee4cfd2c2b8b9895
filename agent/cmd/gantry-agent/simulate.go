package main

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
)

// simulationFlags make a node of a local network false or broken.
func simulationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "simulate-wrong-work", Usage: "LOCAL NETWORKS ONLY: make up the bytes of every measurement, and sign them"},
		&cli.BoolFlag{Name: "simulate-unopened", Usage: "LOCAL NETWORKS ONLY: sign every measurement, and open nothing of it"},
		&cli.IntFlag{Name: "simulate-slow-factor", Usage: "LOCAL NETWORKS ONLY: take `K` times as long for the least of a measurement"},
		&cli.DurationFlag{Name: "simulate-clock-ahead", Usage: "LOCAL NETWORKS ONLY: work with a clock that is `DURATION` ahead, or behind where it is negative"},
		&cli.StringFlag{Name: "simulate-silence-file", Usage: "LOCAL NETWORKS ONLY: answer nobody while `FILE` exists"},
		&cli.StringFlag{Name: "simulate-lost-gpu-file", Usage: "LOCAL NETWORKS ONLY: the first simulated GPU is lost while `FILE` exists"},
		&cli.StringFlag{Name: "simulate-used-gpu-file", Usage: "LOCAL NETWORKS ONLY: the process whose number is in `FILE` computes on the simulated GPUs"},
		&cli.StringFlag{Name: "simulate-tpm", Usage: "LOCAL NETWORKS ONLY: the software TPM at the unix socket `FILE` stands for the machine's"},
		&cli.BoolFlag{Name: "simulate-replayed-quote", Usage: "LOCAL NETWORKS ONLY: show the TPM's first quote again and again"},
		&cli.BoolFlag{Name: "simulate-relayed", Usage: "LOCAL NETWORKS ONLY: have no direct connection with any machine"},
		&cli.StringFlag{Name: "simulate-kernel-log", Usage: "LOCAL NETWORKS ONLY: read `FILE`, a named pipe, as the kernel's log for faults of the simulated GPUs"},
	}
}

// simulation reads them.
func simulation(c *cli.Context) config.Simulation {
	return config.Simulation{
		WrongWork: c.Bool("simulate-wrong-work"), Unopened: c.Bool("simulate-unopened"), SlowFactor: c.Int("simulate-slow-factor"),
		ClockAhead: c.Duration("simulate-clock-ahead"), SilenceFile: c.String("simulate-silence-file"),
		LostFile: c.String("simulate-lost-gpu-file"), UsedFile: c.String("simulate-used-gpu-file"), KernelLog: c.String("simulate-kernel-log"),
		TPM: c.String("simulate-tpm"), ReplayedQuote: c.Bool("simulate-replayed-quote"), Relayed: c.Bool("simulate-relayed"),
	}
}
