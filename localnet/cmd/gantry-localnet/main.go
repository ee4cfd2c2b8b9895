// Command gantry-localnet runs a whole Gantry market on this machine: a Solana node, keepers, agents with simulated
// GPUs, and funded wallets; or runs the demo, the simulation, the soak or the NAT tests on it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := app().RunContext(ctx, os.Args)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	if interrupted && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; everything that was started has been stopped")
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	var usage cli.ExitCoder
	switch {
	case errors.As(err, &usage):
		os.Exit(usage.ExitCode())
	case interrupted:
		os.Exit(4)
	default:
		os.Exit(1)
	}
}

func app() *cli.App {
	return &cli.App{
		Name:            "gantry-localnet",
		Version:         version.Long,
		Usage:           "a Gantry market on this machine",
		HideHelpCommand: true,
		// Errors are printed in one place.
		ExitErrHandler: func(*cli.Context, error) {},
		Commands:       []*cli.Command{upCommand(), downCommand(), statusCommand(), fundCommand(), demoCommand(), simCommand(), fleetCommand(), machineCommand(), benchLeaseCommand(), movesCommand(), honestCommand(), rehearsalCommand(), soakCommand(), sizingCommand(), natCommand(), natMemberCommand(), hostileNetworkCommand(), hostileAttackerCommand(), registryCommand()},
	}
}
