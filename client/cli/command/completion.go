package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/complete"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/completion"
	"github.com/gantry-market/gantry/sdk/browserwallet"
)

// CompletionCommands print the completion scripts of shells, and the manual page.
func CompletionCommands(s Streams) []*cli.Command {
	return []*cli.Command{
		{
			Name: "completion", Usage: "print a shell's completion script", ArgsUsage: "bash|zsh|fish",
			Description: "bash: source <(gantry completion bash)      zsh: source <(gantry completion zsh)\nfish: gantry completion fish | source",
			Action: func(c *cli.Context) error {
				script, ok := completion.Scripts()[c.Args().First()]
				if !ok {
					return service.Usage(fmt.Sprintf("%q is not a shell with a completion script", c.Args().First()), "write bash, zsh or fish")
				}
				_, err := io.WriteString(s.Out, script)
				return err
			},
		},
		{Name: "man", Usage: "print the manual page", Hidden: true, Action: func(c *cli.Context) error {
			page, err := completion.Manual(c.App)
			if err == nil {
				_, err = io.WriteString(s.Out, page)
			}
			return err
		}},
	}
}

// completes prints how a command line may go on. Whatever fails prints nothing.
func completes(ctx context.Context, s Streams, app *cli.App, args []string) {
	shell := os.Getenv(completion.Variable)
	word, found := completion.Find(ctx, app, args, shell, complete.Sources(openMarket))
	completion.Write(s.Out, shell, word, found)
}

// openMarket opens the market that the flags of a command line name, as a command of the customer does.
func openMarket(ctx context.Context, given map[string][]string) (m *complete.Market, err error) {
	if len(given[browserwallet.FlagName]) > 0 {
		return nil, errors.New("a browser is not opened for a completion")
	}
	flags, args := AsSession(globalFlags()...), []string{"gantry"}
	for _, f := range flags {
		for _, value := range given[f.Names()[0]] {
			if value != "" { // such as of --yes, which chooses no market
				args = append(args, fmt.Sprintf("--%s=%s", f.Names()[0], value))
			}
		}
	}
	app := &cli.App{
		Flags: flags, Writer: io.Discard, ErrWriter: io.Discard, HideVersion: true, HideHelp: true, DisableSliceFlagSeparator: true, ExitErrHandler: func(*cli.Context, error) {},
		Action: func(c *cli.Context) error {
			ss, err := newSession(c, Streams{Out: io.Discard, Err: io.Discard, RawOut: io.Discard, RawErr: io.Discard})
			if err != nil {
				return err
			}
			root, err := ss.StateRoot()
			if err != nil {
				ss.Close()
				return err
			}
			m = &complete.Market{Service: ss.Service, Client: ss.Client, Root: root, Close: ss.Close}
			if key, err := ss.KeyFile(); err == nil {
				m.Wallet = key.PublicKey()
				m.Customer, _ = ss.Customer()
			}
			return nil
		},
	}
	return m, app.RunContext(ctx, args)
}
