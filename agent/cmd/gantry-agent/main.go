// Command gantry-agent offers a machine on the Gantry market: it registers it, answers keepers, runs leases and signs
// receipts. See agent/README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/command"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Exit codes.
const (
	exitRefused     = 1
	exitUsage       = 2
	exitNetwork     = 3
	exitInterrupted = 4
)

func main() {
	// The supervisor of a job, or of a measured guest, is this binary run again; it must not do anything else first.
	if len(os.Args) > 1 && os.Args[1] == runtime.InternalCommand {
		os.Exit(runtime.InternalMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == guestvm.InternalCommand {
		os.Exit(guestvm.InternalMain(os.Args[2:]))
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano // the steps of a lease are milliseconds apart
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := app().RunContext(ctx, os.Args)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	command.Fail("error: " + printable.Lines(strings.ReplaceAll(err.Error(), "\n", " ")))
	os.Exit(exitCode(err, interrupted))
}

func app() *cli.App {
	a := &cli.App{
		Name:            "gantry-agent",
		Version:         version.Long + ", messages " + p2p.MessagesVersion().String(),
		Usage:           "offer this machine's GPUs on the Gantry market",
		Writer:          printable.Writer(os.Stdout),
		ErrWriter:       printable.Writer(os.Stderr),
		HideHelpCommand: true,
		Suggest:         true,
		// Errors are printed once, by main.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   wrongUse,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("no command %q; see gantry-agent --help", c.Args().First()))
			}
			return cli.ShowAppHelp(c)
		},
		Commands: []*cli.Command{
			setupCommand(), fleetCommand(), enrolCommand(), initCommand(), doctorCommand(), registerCommand(), runCommand(), statusCommand(), bidsCommand(), updateCommand(),
			statusChange("drain", "serve running leases, take no new ones (before maintenance)", drainTo),
			statusChange("hibernate", "sleep: neither awarded nor checked", hibernateTo),
			guaranteeCommand(), acceptTermsCommand(), checkpointCommand(), endCommand(), reportDeadCommand(), repairedCommand(), idleCommand(), notifyTestCommand(), retireCommand(), closeCommand(), evidenceCommand(),
		},
	}
	for _, c := range a.Commands {
		c.OnUsageError, c.HideHelpCommand = wrongUse, true
		for _, sub := range c.Subcommands {
			sub.OnUsageError, sub.HideHelpCommand = wrongUse, true
		}
	}
	return a
}

// wrongUse replaces a page of help by one line.
func wrongUse(_ *cli.Context, err error, _ bool) error { return usage(err) }

// usageError is wrong use of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(err error) error {
	if err == nil {
		return nil
	}
	var already *usageError
	if errors.As(err, &already) {
		return err
	}
	return &usageError{err: err}
}
