// Command gantry-keeper runs a keeper of the Gantry market. See keeper/README.md.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/command"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/p2p"
)

func main() { command.Main(app(), market.Explain) }

func app() *cli.App {
	return &cli.App{
		Name: "gantry-keeper", Version: version.Long + ", messages " + p2p.MessagesVersion().String(),
		Usage:  "awards orders, checks nodes, agrees on reports and keeps the Gantry market moving",
		Writer: printable.Writer(os.Stdout), ErrWriter: printable.Writer(os.Stderr),
		Commands: []*cli.Command{
			runCommand(), registerCommand(), statusCommand(), exitCommand(), withdrawCommand(), consentCommand(), setSignerCommand(), evidenceCommand(), signerCommand(),
		},
		// Errors are printed once, by main.
		ExitErrHandler:       func(*cli.Context, error) {},
		EnableBashCompletion: true,
	}
}
