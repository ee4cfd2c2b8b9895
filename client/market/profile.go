package market

import (
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/idl/bindings"
)

// ProfileOf is what a model's GPUs are measured by, from its account: docs/protocol/measurement.md.
func ProfileOf(p bindings.MeasureProfile) measure.Profile {
	return measure.Profile{
		Order: p.Order, Fold: p.Fold, Rows: p.Rows, ChainMs: p.ChainMs, Resident: p.Resident, WalkMs: p.WalkMs, Lanes: p.Lanes,
	}
}
