package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/arguments"
	"github.com/gantry-market/gantry/internal/completion"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/feeflags"
	"github.com/gantry-market/gantry/sdk/listflags"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Streams are what the command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal: somebody reads Err and answers on In.
	Terminal bool
	// Screen: somebody reads Out.
	Screen bool
	// OnOut and OnErr are what Out and Err can show to a person. Nothing is drawn on the zero value.
	OnOut, OnErr screen.Terminal

	// Results sees what a command prints as well: its document, and how it is shown to a person. Nil for nobody.
	Results func(value any, people func(*terminal.Page))
	// Failures sees how an error is shown to a person. Nil for nobody.
	Failures func(people func(*terminal.Page))

	// RawOut and RawErr are Out and Err as they are, for the output of jobs. Run sets them.
	RawOut, RawErr io.Writer
}

// Flags of every command.
const (
	FlagURL        = "url"
	FlagWS         = "ws"
	FlagKeypair    = "keypair"
	FlagConfig     = "config"
	FlagContext    = "context"
	FlagCommitment = "commitment"
	FlagJSON       = "json"
	FlagOutput     = "output"
	FlagDryRun     = "dry-run"
	FlagVerbose    = "verbose"
	FlagYes        = "yes"
	FlagStateDir   = "state-dir"
	FlagRaw        = "raw"
	FlagSponsor    = "sponsor"
)

func globalFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringSliceFlag{Name: FlagURL, Aliases: []string{"u"}, Usage: "RPC `URL` or mainnet-beta, devnet, testnet, localhost; repeat for failover (default: GANTRY_RPC_URL, then the context, then solana config)"},
		&cli.StringSliceFlag{Name: FlagWS, Usage: "WebSocket `URL` of each --url (default: GANTRY_WS_URL, then of the context, then derived)"},
		&cli.StringFlag{Name: FlagKeypair, Aliases: []string{"k"}, Usage: "`PATH` of your wallet's keypair file (default: GANTRY_KEYPAIR, then the context, then solana config)"},
		&cli.StringFlag{Name: FlagConfig, Aliases: []string{"C"}, Usage: "`PATH` of the solana config file"},
		&cli.StringFlag{Name: FlagContext, Usage: "`NAME` of the context whose settings count (default: GANTRY_CONTEXT, then the one of gantry context use)"},
		browserwallet.NewFlag(),
		&cli.StringFlag{Name: FlagSponsor, Usage: "`URL` of a sponsor that pays fees and rent, so that the wallet needs no SOL; its token stands in GANTRY_SPONSOR_TOKEN (default: GANTRY_SPONSOR, then the context, then none)"},
		&cli.StringFlag{Name: FlagCommitment, Usage: "`LEVEL` processed, confirmed or finalized (default: solana config)"},
		&cli.StringFlag{Name: FlagOutput, Aliases: []string{"o"}, Value: string(terminal.FormatTable), Usage: "`FORMAT` of the result: table, wide (all columns, whole addresses), json or yaml (one document on standard output)"},
		&cli.BoolFlag{Name: FlagJSON, Usage: "the same as -o json"},
		&cli.BoolFlag{Name: FlagDryRun, Usage: "simulate the first transaction and print its cost and log; send nothing"},
		&cli.BoolFlag{Name: FlagYes, Aliases: []string{"y"}, Usage: "agree to what moves money without being asked; for scripts"},
		&cli.StringFlag{Name: FlagStateDir, Usage: "`FOLDER` for what you buy, with the jobs and their secrets (default: $XDG_STATE_HOME/gantry or ~/.local/state/gantry)", EnvVars: []string{"GANTRY_STATE_DIR"}},
		&cli.BoolFlag{Name: FlagVerbose, Usage: "log what the client does"},
		listflags.Flag(),
	}, feeflags.Flags()...)
}

// NewApp builds the command line of these commands.
func NewApp(s Streams, commands []*cli.Command) *cli.App {
	app := &cli.App{
		Name:                   "gantry",
		Usage:                  "buy and sell GPU compute, paid and verified on Solana",
		Version:                version.Long + ", messages " + p2p.MessagesVersion().String(),
		Flags:                  globalFlags(),
		UseShortOptionHandling: false,
		HideHelpCommand:        true,
		// A value with a comma is one value: flags that take several are repeated.
		DisableSliceFlagSeparator: true,
		Writer:                    s.Out,
		ErrWriter:                 s.Err,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return wrongFlags(err, "gantry", nil)
		},
		CommandNotFound: func(c *cli.Context, name string) {},
		Before: func(c *cli.Context) error {
			_, err := formatOf(c)
			return err
		},
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return unknownCommand(name, "gantry", c.App.Commands)
			}
			return cli.ShowAppHelp(c)
		},
		Commands: commands,
	}
	arguments.OwnHelp(app)
	onUsage(app.Commands)
	return app
}

// onUsage gives every command the same answer to a wrong flag and to a missing subcommand.
func onUsage(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = func(ctx *cli.Context, err error, _ bool) error {
			return wrongFlags(err, ctx.Command.HelpName, ctx.Command.Flags)
		}
		onUsage(c.Subcommands)
		if len(c.Subcommands) > 0 && c.Action == nil {
			c.HideHelpCommand = true
			path := c.Name
			c.Action = func(ctx *cli.Context) error {
				if name := ctx.Args().First(); name != "" {
					return unknownCommand(name, "gantry "+path, ctx.Command.Subcommands)
				}
				return cli.ShowSubcommandHelp(ctx)
			}
		}
	}
}

// Run runs a command line of the commands that are assembled, and returns the exit code. args are without the program's
// name.
func Run(ctx context.Context, s Streams, args []string, assemble func(Streams) []*cli.Command) int {
	// All output passes here, whichever part of the program writes it. Only what a customer's own job has written may be had as it is.
	s.RawOut, s.RawErr = s.Out, s.Err
	s.Out, s.Err = printable.Writer(s.Out), printable.Writer(s.Err)
	app := NewApp(s, assemble(s))
	if n := len(args) - 1; n >= 0 && args[n] == completion.Flag {
		completes(ctx, s, app, args[:n])
		return service.CodeDone
	}
	args = arguments.AsHelp(args)
	err := app.RunContext(ctx, append([]string{app.Name}, arguments.Arrange(app, args)...))
	if err == nil || errors.Is(err, arguments.ErrVersion) {
		return service.CodeDone
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errInternalCancel, err)
	}
	f := service.Classify(err)
	if f.Quiet {
		return f.Code
	}
	s.printFailure(f)
	if format := wanted(args); format.Document() && !f.Told {
		_ = format.Write(s.Out, describeFailure(f))
	}
	return f.Code
}

var errInternalCancel = errors.New("a part of the command was stopped by another")

// unknownCommand is the error of a command that does not exist; path is of the group in which it was looked for.
func unknownCommand(typed, path string, commands []*cli.Command) error {
	what := fmt.Sprintf("%q is not a command", typed)
	if path != "gantry" {
		what += " of " + path
	}
	return service.Usage(what, arguments.Suggest(typed, path, commands))
}

// wrongFlags is the error of flags that cannot be read.
func wrongFlags(err error, command string, flags []cli.Flag) error {
	return service.Usage(err.Error(), arguments.SuggestFlag(err, command, append(flags, globalFlags()...)))
}
