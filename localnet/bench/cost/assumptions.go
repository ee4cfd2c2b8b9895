// Package cost counts what a market of many machines costs on chain: compute units, fees and rent for a machine-hour and for a lease. It
// takes measured compute units, the instructions as the SDK builds them, the default parameters and the bounds of fees. What
// cannot be taken from the repository is in Assumptions. docs/reports/scale.md is what it writes.
package cost

import (
	"time"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Assumption is a number that no file of the repository gives.
type Assumption struct {
	Name, Value, Source string
}

// Assumptions are everything that is assumed. Each has its date and its source in List.
type Assumptions struct {
	SOL         float64             // USDC for a SOL
	Quiet, Busy chain.MicroLamports // price of a compute unit
	Leased      float64             // share of the hours for which a machine is leased
	LeaseHours  float64             // mean length of a lease
	Keepers     int
	Yearly      float64 // what capital earns in a year elsewhere
	HashUnits   int     // compute units for each further hash of a leaf's proof
}

// Today are the assumptions of this report.
func Today() Assumptions {
	fees := txm.DefaultFees()
	return Assumptions{
		SOL: 200, Quiet: fees.Floor, Busy: fees.Cap, Leased: 0.5, LeaseHours: 12, Keepers: 19, Yearly: 0.2, HashUnits: 160,
	}
}

// List says where each assumption comes from.
func (a Assumptions) List() []Assumption {
	const date = "2026-11-30"
	return []Assumption{
		{"price of SOL", decimal(a.SOL, 0) + " USDC", date + ": a round number. Public pages of 2024 to 2026 name 80 to 263; shares below grow in proportion to it"},
		{"quiet priority fee", micro(a.Quiet), date + ": the floor that our programs bid where nobody competes (`sdk/txm.DefaultFees`)"},
		{"congested priority fee", micro(a.Busy), date + ": the highest price that our programs bid (the same)"},
		{"time that a machine is leased", decimal(100*a.Leased, 0) + " %", date + ": as in [keeper economics](keeper-economics.md)"},
		{"length of a lease", decimal(a.LeaseHours, 0) + " h", date + ": a guess; it matters for fees that are paid once a lease"},
		{"keepers", decimal(float64(a.Keepers), 0), date + ": as in the [benchmarks of a million machines](../../keeper/match/million_bench_test.go)"},
		{"a further hash of a proof", count(float64(a.HashUnits)) + " units", date + ": not measured. The runtime takes 127 for a hash of three parts, and the program adds its turn; 16 hashes were measured"},
		{"what capital earns", decimal(100*a.Yearly, 0) + " % a year", date + ": `CAPITAL_BPS` of the program, for rent that comes back"},
	}
}

// Machine is a machine of a market, with its price for an hour under a lease.
type Machine struct {
	Class string
	GPUs  int
	Price float64 // USDC per GPU-hour
}

// Hourly is what it is paid in an hour on average.
func (m Machine) Hourly(a Assumptions) float64 { return m.Price * float64(m.GPUs) * a.Leased }

// settleDefault is how often agents settle receipts where nobody says otherwise (agent/daemon).
const settleDefault = 15 * time.Minute
