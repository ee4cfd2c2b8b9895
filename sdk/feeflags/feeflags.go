// Package feeflags holds the flags of all commands that say what transactions may cost.
package feeflags

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	floor = "min-unit-price"
	limit = "max-unit-price"
	most  = "max-fee"
)

// Flags returns the flags.
func Flags() []cli.Flag {
	d := txm.DefaultFees()
	return []cli.Flag{
		&cli.Uint64Flag{Name: floor, Value: uint64(d.Floor), Usage: "lowest priority fee, `MICRO-LAMPORTS` per compute unit", EnvVars: []string{"GANTRY_MIN_UNIT_PRICE"}},
		&cli.Uint64Flag{Name: limit, Value: uint64(d.Cap), Usage: "highest priority fee, `MICRO-LAMPORTS` per compute unit; the price doubles each time a transaction does not land", EnvVars: []string{"GANTRY_MAX_UNIT_PRICE"}},
		&cli.Uint64Flag{Name: most, Value: uint64(d.Most), Usage: "the most `LAMPORTS` that one transaction may cost, signatures and priority together", EnvVars: []string{"GANTRY_MAX_FEE"}},
	}
}

// Read reads the flags. Error: txm.ErrFees.
func Read(c *cli.Context) (txm.Fees, error) {
	f := txm.Fees{
		Floor: chain.MicroLamports(c.Uint64(floor)), Cap: chain.MicroLamports(c.Uint64(limit)), Most: chain.Lamports(c.Uint64(most)),
	}
	if f.Floor > f.Cap {
		return f, fmt.Errorf("%w: --%s %d is above --%s %d", txm.ErrFees, floor, f.Floor, limit, f.Cap)
	}
	if f.Most < chain.SignatureFee {
		return f, fmt.Errorf("%w: --%s %d lamports do not pay for one signature (%d)", txm.ErrFees, most, f.Most, chain.SignatureFee)
	}
	return f, nil
}
