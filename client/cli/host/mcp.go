package host

import (
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

const flagBudget = "budget"

func mcpCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "tools for language models, over standard input and output",
		Description: "Speaks the Model Context Protocol on standard input and output until the client closes them. Its tools search offers and\n" +
			"show leases, their output, costs and history. With --budget they also buy, and stop and enter what they have bought. It\n" +
			"works with a session key, whose cap holds on chain whatever the model does, and never with your wallet.",
		Flags: command.AsSession(
			&cli.StringFlag{Name: flagBudget, Usage: "the most `USDC` that purchases of this session key through this command may reserve in total, across restarts. Without it no tool spends"},
		),
		Action: action(s, (*session).mcp),
	}
}

func (s *session) mcp() (err error) {
	if _, err := s.Args(); err != nil {
		return err
	}
	if s.CLI.String(command.FlagSession) == "" {
		return service.Usage("gantry mcp works with a session key only, and --session is missing",
			"make one with: gantry key new session.json, and name it with: gantry session add session.json --cap USDC --fund SOL")
	}
	if _, err := s.Market(); err != nil {
		return err
	}
	customer, err := s.Customer()
	if err != nil {
		return err
	}
	account, err := s.account(customer)
	if err != nil {
		return err
	}
	defer account.Close()
	o := mcp.Options{
		Market: s.Service, Machines: s.Machines(), Outputs: account, Jobs: account, Volumes: account, Names: account.NameLeases,
		Customer: customer, Session: account.Key.PublicKey(), Version: s.CLI.App.Version,
	}
	if o.Catalogue, err = catalogue.Builtin(); err != nil {
		return err
	}
	if o.Templates, err = template.Builtin(); err != nil {
		return err
	}
	if s.CLI.IsSet(flagBudget) {
		most, err := market.ParseUSDC(s.CLI.String(flagBudget))
		if err != nil {
			return service.Usage("--budget: "+err.Error(), "give an amount of USDC, such as --budget 5")
		}
		end, err := account.SpendForModels(s.Context, &o, most)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return mcp.New(o).Run(s.Context, &sdk.IOTransport{Reader: io.NopCloser(s.In), Writer: unclosed{s.Streams.RawOut}})
}

// unclosed is standard output, which the process closes when it ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
