package browserwallet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
)

// FlagName is the flag of commands for which a wallet in a browser may sign, in place of a key file.
const FlagName = "sign-with"

// NewFlag is that flag.
func NewFlag() cli.Flag {
	return &cli.StringFlag{Name: FlagName, Usage: "sign transactions with a wallet in a browser on this machine, in place of a key file: `browser`, or browser:ADDRESS for that account alone"}
}

// ErrFlag means that --sign-with names no wallet that there is.
var ErrFlag = errors.New("--sign-with is browser, or browser:ADDRESS")

// Parse reads the value of a flag --sign-with: "browser", or "browser:" with the account that has to be connected.
// Error: ErrFlag.
func Parse(text string) (expect solana.PublicKey, err error) {
	name, account, named := strings.Cut(text, ":")
	if name != "browser" {
		return expect, fmt.Errorf("%w, not %q", ErrFlag, text)
	}
	if !named {
		return expect, nil
	}
	if expect, err = solana.PublicKeyFromBase58(account); err != nil || expect.IsZero() {
		return expect, fmt.Errorf("%w, and %q is not an address", ErrFlag, account)
	}
	return expect, nil
}

// FromFlag opens the wallet of a flag --sign-with for a command on a cluster, and writes where its page is. Errors:
// ErrFlag, those of Open and of the chain.
func FromFlag(ctx context.Context, text string, c *chain.Client, command string, out io.Writer, log zerolog.Logger) (*Wallet, error) {
	expect, err := Parse(text)
	if err != nil {
		return nil, err
	}
	genesis, err := c.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	cluster := chain.ClusterOf(genesis)
	return Open(ctx, Options{
		Chain: cluster.WalletStandard(), Local: cluster == chain.ClusterLocal, Expect: expect, Command: command, Log: log,
		Announce: func(url string) {
			fmt.Fprintf(out, " · wallet   open this in the browser that has it, on this machine: %s\n", url)
		},
	})
}
