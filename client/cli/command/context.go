package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/contexts"
)

// FlagServer names a running gantry serve.
const FlagServer = "server"

// Settings are those of a command.
func Settings(c *cli.Context) (*contexts.Settings, error) {
	f, err := contexts.Load()
	if err != nil {
		return nil, failedContext(err)
	}
	set, err := contexts.Resolve(f, &contexts.Flags{
		Context: c.String(FlagContext), RPC: c.StringSlice(FlagURL), WS: c.StringSlice(FlagWS), Keypair: c.String(FlagKeypair), Server: c.String(FlagServer), Sponsor: c.String(FlagSponsor),
		Config: c.String(FlagConfig), Commitment: c.String(FlagCommitment),
	}, os.Getenv)
	return set, failedContext(err)
}

// failedContext advises on an error of contexts.
func failedContext(err error) error {
	switch {
	case errors.Is(err, contexts.ErrFile):
		return service.Usage(err.Error(), "repair it, or remove it and set your contexts anew")
	case errors.Is(err, contexts.ErrUnknown):
		return service.Usage(err.Error(), "those that there are: gantry context list")
	case errors.Is(err, contexts.ErrContext):
		return service.Usage(err.Error(), "see gantry context set --help")
	}
	return err
}

// ContextCommands keep the contexts of a user. They ask no one.
func ContextCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "context", Usage: "named settings for markets and wallets", Description: "A flag counts more than the environment, the environment more than the context.",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "your contexts", Action: func(c *cli.Context) error {
				f, err := contexts.Load()
				if err != nil {
					return failedContext(err)
				}
				all := f.List()
				return s.Print(c, all, func(w *terminal.Page) {
					if len(all) == 0 {
						fmt.Fprintln(w, "no contexts; make one with: gantry context set NAME --rpc-url URL")
						return
					}
					w.Table("|CONTEXT|RPC|KEYPAIR~2|SERVER~1|GATEWAY~3", contexts.Rows(all))
				})
			}},
			{Name: "show", Usage: "the settings that count, and where each comes from", Action: func(c *cli.Context) error {
				set, err := Settings(c)
				if err != nil {
					return err
				}
				return s.Print(c, set.All(), func(w *terminal.Page) { w.Table("SETTING|VALUE|FROM", set.Rows()) })
			}},
			{Name: "use", Usage: "have a context count from now on", ArgsUsage: "CONTEXT", Action: onContext(s, "is used from now on", func(_ *cli.Context, f *contexts.File, name string) error { return f.Use(name) })},
			{
				Name: "set", Usage: "make a context, or change its settings; other settings stay", ArgsUsage: "CONTEXT",
				Flags: []cli.Flag{
					&cli.StringSliceFlag{Name: contexts.SettingRPC, Usage: "RPC `URL`, or mainnet-beta, devnet, testnet, localhost; repeat for failover"},
					&cli.StringSliceFlag{Name: contexts.SettingWS, Usage: "WebSocket `URL` of each --rpc-url (default: derived)"},
					&cli.StringFlag{Name: contexts.SettingKeypair, Usage: "`PATH` of a keypair file"},
					&cli.StringFlag{Name: contexts.SettingServer, Usage: "`URL` of a running gantry serve"},
					&cli.StringFlag{Name: contexts.SettingGateway, Usage: "`GATEWAY` that makes ports public"},
					&cli.StringFlag{Name: contexts.SettingSponsor, Usage: "`URL` of a sponsor that pays fees and rent"},
					&cli.StringFlag{Name: "bucket", Usage: "`s3://BUCKET/FOLDER` that keeps volumes"},
					&cli.StringFlag{Name: "bucket-endpoint", Usage: "`URL` of its S3 server, if it is not Amazon's"},
					&cli.StringFlag{Name: "bucket-price", Usage: "what it costs for a GiB and month, such as \"0.023 USD\"; only shown"},
				},
				Action: onContext(s, "is set", func(c *cli.Context, f *contexts.File, name string) error {
					return f.Set(name, contexts.Context{
						RPC: c.StringSlice(contexts.SettingRPC), WS: c.StringSlice(contexts.SettingWS), Keypair: c.String(contexts.SettingKeypair),
						Server: c.String(contexts.SettingServer), Gateway: c.String(contexts.SettingGateway), Sponsor: c.String(contexts.SettingSponsor),
						Bucket: c.String(contexts.SettingBucket), Endpoint: c.String(contexts.SettingEndpoint), Price: c.String(contexts.SettingPrice),
					})
				}),
			},
			{Name: "delete", Usage: "remove a context", ArgsUsage: "CONTEXT", Action: onContext(s, "is deleted", func(_ *cli.Context, f *contexts.File, name string) error { return f.Delete(name) })},
		},
	}}
}

// onContext is the action of a command that changes the file of contexts.
func onContext(s Streams, done string, change func(*cli.Context, *contexts.File, string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := (&Session{CLI: c}).Args("CONTEXT")
		if err != nil {
			return err
		}
		f, err := contexts.Load()
		if err == nil {
			err = change(c, f, args[0])
		}
		if err != nil {
			return failedContext(err)
		}
		return s.Print(c, f.List(), func(w *terminal.Page) { fmt.Fprintf(w, "context %s %s   (%s)\n", args[0], done, f.Path()) })
	}
}
