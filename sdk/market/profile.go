package market

import (
	"fmt"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/idl/bindings"
)

// ProfileOf is what a model's GPUs are measured by, from its account: docs/protocol/measurement.md.
func ProfileOf(p bindings.MeasureProfile) measure.Profile {
	return measure.Profile{
		Order: p.Order, Fold: p.Fold, Rows: p.Rows, ChainMs: p.ChainMs, Resident: p.Resident, WalkMs: p.WalkMs, Lanes: p.Lanes,
	}
}

// ProfileArgs is what GPUs are measured by, as a model's account and instructions have it: the inverse of ProfileOf.
func ProfileArgs(p measure.Profile) bindings.MeasureProfile {
	return bindings.MeasureProfile{
		Order: p.Order, Fold: p.Fold, Rows: p.Rows, ChainMs: p.ChainMs, Resident: p.Resident, WalkMs: p.WalkMs, Lanes: p.Lanes,
	}
}

// ProfileText is a profile as the command line has it: order, fold, rows, milliseconds of the chain, resident rounds,
// milliseconds of walks, lanes.
func ProfileText(p bindings.MeasureProfile) string {
	return fmt.Sprintf("%d,%d,%d,%d,%d,%d,%d", p.Order, p.Fold, p.Rows, p.ChainMs, p.Resident, p.WalkMs, p.Lanes)
}
