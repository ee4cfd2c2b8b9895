// Command gantry-gateway gives leases a public URL and an SSH jump host. See docs/operate/gateway.md.
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
		Name: "gantry-gateway", Version: version.Long + ", messages " + p2p.MessagesVersion().String(),
		Usage:  "gives leases of the Gantry market a public URL and an SSH jump host",
		Writer: printable.Writer(os.Stdout), ErrWriter: printable.Writer(os.Stderr),
		Commands: []*cli.Command{runCommand()},
		// Errors are printed once, by main.
		ExitErrHandler:       func(*cli.Context, error) {},
		EnableBashCompletion: true,
	}
}
