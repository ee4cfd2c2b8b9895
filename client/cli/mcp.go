package cli

import (
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/sdk/market"
)

const flagBudget = "budget"

func mcpCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "tools for language models, over standard input and output",
		Description: "Speaks the Model Context Protocol on standard input and output until the client closes them. Its tools search offers and\n" +
			"show leases, their output, costs and history. With --budget they also buy, and stop and enter what they have bought. It\n" +
			"works with a session key, whose cap holds on chain whatever the model does, and never with your wallet.",
		Flags: asSession(
			&cli.StringFlag{Name: flagBudget, Usage: "the most `USDC` that purchases of this session key through this command may reserve in total, across restarts. Without it no tool spends"},
		),
		Action: action(s, (*session).mcp),
	}
}

func (s *session) mcp() (err error) {
	if _, err := s.args(); err != nil {
		return err
	}
	if s.cli.String(flagSession) == "" {
		return usage("gantry mcp works with a session key only, and --session is missing",
			"make one with: gantry key new session.json, and name it with: gantry session add session.json --cap USDC --fund SOL")
	}
	if _, err := s.market(); err != nil {
		return err
	}
	customer, err := s.customer()
	if err != nil {
		return err
	}
	key, err := s.wallet()
	if err != nil {
		return err
	}
	if key.PublicKey() == customer {
		return refused("the key of --session is the customer's own wallet", "name another key with: gantry session add KEY --cap USDC")
	}
	account, err := s.account(customer)
	if err != nil {
		return err
	}
	defer account.Close()
	o := mcp.Options{Market: s.service, Outputs: account, Customer: customer, Session: key.PublicKey(), Version: s.cli.App.Version}
	if s.cli.IsSet(flagBudget) {
		most, err := market.ParseUSDC(s.cli.String(flagBudget))
		if err != nil {
			return usage("--budget: "+err.Error(), "give an amount of USDC, such as --budget 5")
		}
		end, err := account.SpendForModels(s.ctx, &o, most)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return mcp.New(o).Run(s.ctx, &sdk.IOTransport{Reader: io.NopCloser(s.in), Writer: unclosed{s.streams.rawOut}})
}

// unclosed is standard output, which the process closes when it ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
