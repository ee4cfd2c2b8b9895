// Command gantry-kubelet is a node of a Kubernetes cluster whose pods run as leases of the Gantry market. It needs the address
// and the token of a `gantry serve`, and a service account of the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"
)

// version is the one that Go has recorded of this module. Kubernetes reads it as the node's.
var version = recorded()

func recorded() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return "v0.0.0-dev"
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := app().RunContext(ctx, os.Args); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

func app() *cli.App {
	return &cli.App{
		Name: "gantry-kubelet", Usage: "run pods of a Kubernetes cluster as leases of the Gantry market", Version: version,
		HideHelpCommand: true, Flags: flags(), Action: run,
		ArgsUsage: " ",
	}
}

func logger(c *cli.Context) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.String(flagLogLevel))
	if err != nil {
		return zerolog.Logger{}, fmt.Errorf("--%s: %w: say debug, info, warn or error", flagLogLevel, err)
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true, TimeFormat: "15:04:05"}).Level(level).With().Timestamp().Logger(), nil
}
