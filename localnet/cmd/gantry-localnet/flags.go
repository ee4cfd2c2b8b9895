package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/localnet/engine"
)

const usageError = 2

func engineFlag() cli.Flag {
	return &cli.StringFlag{Name: "engine", Value: string(engine.Surfnet), EnvVars: []string{"GANTRY_ENGINE"}, Usage: "surfnet (embedded) or agave (solana-test-validator)"}
}

func stateFlag() cli.Flag {
	return &cli.StringFlag{Name: "state", EnvVars: []string{"GANTRY_STATE"}, Usage: "state `DIR`ectory: keys, logs, data (default ~/.local/state/gantry-localnet)"}
}

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show what the network does, on standard error"}
}

func chosenEngine(c *cli.Context) (engine.Kind, error) {
	kind := engine.Kind(c.String("engine"))
	if !slices.Contains(engine.Kinds(), kind) {
		return "", cli.Exit(fmt.Sprintf("unknown engine %q; want surfnet or agave", kind), usageError)
	}
	return kind, nil
}

// stateDir is the chosen state directory, or name below the usual one.
func stateDir(c *cli.Context, name string) (string, error) {
	if dir := c.String("state"); dir != "" {
		return filepath.Abs(dir)
	}
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home directory, give --state: %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, name), nil
}

func logger(c *cli.Context) zerolog.Logger { return loggerAt(c, c.Bool("verbose")) }

// loggerAt shows errors, or everything.
func loggerAt(c *cli.Context, everything bool) zerolog.Logger {
	level := zerolog.ErrorLevel
	if everything {
		level = zerolog.DebugLevel
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: printable.Output(c.App.ErrWriter), TimeFormat: "15:04:05.000"}).Level(level).With().Timestamp().Logger()
}
