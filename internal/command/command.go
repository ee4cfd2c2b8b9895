// Package command is what the programs of operators share: how they end, and how they log.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/printable"
)

// interrupted is the exit status of a program that a signal has ended.
const interrupted = 130

// Main runs a daemon's program until it ends or is interrupted, and prints its error once, as explain words it.
func Main(app *cli.App, explain func(error) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := app.RunContext(ctx, os.Args)
	stop()
	switch {
	case err == nil:
		return
	case errors.Is(err, context.Canceled):
		os.Exit(interrupted)
	}
	Fail(app.Name + ": " + printable.Lines(explain(err).Error()))
	os.Exit(1)
}

// Log writes to standard error from a level on: lines of JSON, or text for people. In the journal each line has its priority.
// Error: there is no such level.
func Log(level string, json bool) (zerolog.Logger, error) {
	from, err := zerolog.ParseLevel(level)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("--log-level %q; use debug, info, warn or error", level)
	}
	format := printable.Writer
	if !json {
		format = func(w io.Writer) io.Writer {
			return zerolog.ConsoleWriter{
				Out: printable.Output(w), TimeFormat: "15:04:05.000", NoColor: os.Getenv("NO_COLOR") != "" || !OnTerminal(os.Stderr),
			}
		}
	}
	log := zerolog.New(format(os.Stderr))
	if inJournal() {
		log = zerolog.New(newJournalled(os.Stderr, format))
	}
	return log.Level(from).With().Timestamp().Logger(), nil
}

// OnTerminal reports whether a person is likely to read what is written to the file.
func OnTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
