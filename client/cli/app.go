package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/cli/govern"
	"github.com/gantry-market/gantry/client/cli/host"
	"github.com/gantry-market/gantry/client/cli/keep"
	"github.com/gantry-market/gantry/client/cli/keys"
	"github.com/gantry-market/gantry/client/cli/provide"
	"github.com/gantry-market/gantry/client/cli/rent"
	"github.com/gantry-market/gantry/client/cli/verify"
	"github.com/gantry-market/gantry/client/service"
)

// Streams are what the command reads and writes.
type Streams = command.Streams

// Exit codes of the command.
const (
	ExitDone        = service.CodeDone
	ExitRefused     = service.CodeRefused
	ExitUsage       = service.CodeUsage
	ExitNetwork     = service.CodeNetwork
	ExitInterrupted = service.CodeInterrupted
	ExitJobFailed   = service.CodeJobFailed
	ExitViolation   = service.CodeViolation
	ExitUnknown     = service.CodeUnknown
)

// Commands are all commands, by who uses them. The help lists these groups by their names.
func Commands(s Streams) []*cli.Command {
	group := func(name string, lists ...[]*cli.Command) []*cli.Command {
		all := slices.Concat(lists...)
		for _, c := range all {
			c.Category = name
		}
		return all
	}
	return slices.Concat(
		group("Buy and use compute", rent.Commands(s)),
		group("Check what happened", verify.Commands(s)),
		group("Govern the market", govern.Commands(s)),
		group("Keep the market", keep.Commands(s)),
		group("Provide machines", provide.Commands(s)),
		group("Serve programs, models and a team", host.Commands(s)),
		group("Settings and keys", keys.Commands(s), command.ContextCommands(s), command.CompletionCommands(s)),
	)
}

// Run runs the command line and returns the exit code. args are without the program's name.
func Run(ctx context.Context, s Streams, args []string) int {
	return command.Run(ctx, s, args, Commands)
}
