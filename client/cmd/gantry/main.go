// Command gantry buys and sells GPU compute on the Gantry market.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/screen"
)

func main() { os.Exit(run()) }

// run gives the first interrupt to the command, which then says what is true on chain; the second one ends it at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	reads := term.IsTerminal(int(os.Stdout.Fd()))
	asks := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
	return cli.Run(ctx, cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: asks, Screen: reads,
		OnOut: screen.Of(os.Stdout, os.Getenv), OnErr: screen.Of(os.Stderr, os.Getenv),
	}, os.Args[1:])
}
