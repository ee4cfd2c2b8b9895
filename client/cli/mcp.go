package cli

import (
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/mcp"
)

func mcpCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "tools for language models, over standard input and output",
		Description: "Speaks the Model Context Protocol on standard input and output until the client closes them. Its tools search offers and\n" +
			"show leases, their output and their costs; none spends. It works with a session key and never with your wallet.",
		Flags:  asSession(),
		Action: action(s, (*session).mcp),
	}
}

func (s *session) mcp() error {
	if _, err := s.args(); err != nil {
		return err
	}
	if s.cli.String(flagSession) == "" {
		return usage("gantry mcp works with a session key only, and --session is missing",
			"make one with: solana-keygen new -o session.json, and name it with: gantry session add session.json --cap USDC --fund SOL")
	}
	if _, err := s.market(); err != nil {
		return err
	}
	customer, err := s.customer()
	if err != nil {
		return err
	}
	if _, err := s.folder(); err != nil {
		return err
	}
	key, err := s.wallet()
	if err != nil {
		return err
	}
	if key.PublicKey() == customer {
		return refused("the key of --session is the customer's own wallet", "name another key with: gantry session add KEY --cap USDC")
	}
	server := mcp.New(mcp.Options{Market: s.service, Outputs: &buyer{s}, Customer: customer, Session: key.PublicKey(), Version: s.cli.App.Version})
	return server.Run(s.ctx, &sdk.IOTransport{Reader: io.NopCloser(s.in), Writer: unclosed{s.streams.rawOut}})
}

// unclosed is standard output, which the process closes when it ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
