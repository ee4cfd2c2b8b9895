package demo

import (
	"context"

	sdk "github.com/gantry-market/gantry/client/market"
)

// printStatements shows the check statements behind a fault.
func (d *demo) printStatements(ctx context.Context, step int, fault sdk.Fault) error {
	return nil
}
