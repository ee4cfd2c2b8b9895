// Package listflags holds the flag of commands that says how large a list of the market's accounts may be.
package listflags

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
)

const name = "max-list-mib"

// ErrBound is the error of a bound that no list fits.
var ErrBound = errors.New("wrong bound of lists")

// Flag returns the flag.
func Flag() cli.Flag {
	return &cli.Int64Flag{
		Name: name, EnvVars: []string{"GANTRY_MAX_LIST_MIB"},
		Usage: fmt.Sprintf("the most memory, `MIB`, for one list of accounts from an RPC node: raise it when the market has grown (default: %d, less for parts of the market)", chain.DefaultBound().Bytes>>20),
	}
}

// Read reads the flag; without it, chain's default counts. Error: ErrBound.
func Read(c *cli.Context) (chain.Bound, error) {
	const mostMiB = 1 << 24
	mib := c.Int64(name)
	if mib < 0 || mib > mostMiB {
		return chain.Bound{}, fmt.Errorf("%w: --%s %d is not between 1 and %d", ErrBound, name, mib, mostMiB)
	}
	bytes := mib << 20
	return chain.Bound{Bytes: bytes, Accounts: int(bytes / chain.AccountOverhead)}, nil
}
