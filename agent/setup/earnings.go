package setup

import (
	"fmt"
	"io"
	"slices"

	"github.com/gantry-market/gantry/sdk/market"
)

// HoursPerMonth is a twelfth of a year of 365 days.
const HoursPerMonth = 730

// Earnings is what a machine would earn in a month in which all its GPUs are leased at its ask during all of its hours.
type Earnings struct {
	Price market.PricePerHour
	GPUs  int
	// Hours are those of a month in which it takes leases.
	Hours uint64
	// FeeBPS is the market's fee, basis points of what customers pay.
	FeeBPS uint16
}

// Month is what customers would pay, and what the provider would receive of it: price × GPUs × hours, less the fee.
// Error: market.ErrAmount where it does not fit.
func (e Earnings) Month() (paid, received market.USDC, err error) {
	hours := uint64(max(e.GPUs, 0)) * e.Hours
	if hours != 0 && uint64(e.Price) > ^uint64(0)/hours {
		return 0, 0, fmt.Errorf("%w: %s USDC per GPU-hour for a month", market.ErrAmount, e.Price)
	}
	paid = market.USDC(uint64(e.Price) * hours)
	fee, err := market.Fee(paid, e.FeeBPS)
	if err != nil {
		return 0, 0, err
	}
	return paid, paid - fee, nil
}

// Print writes the earnings beside what the market asks now. reference is 0 when it is unknown.
func (e Earnings) Print(w io.Writer, model string, reference market.PricePerHour, others []market.PricePerHour) error {
	paid, received, err := e.Month()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n earnings   at most %s USDC a month: %d × %s at %s USDC per GPU-hour × %d h = %s, less the market's fee of %d.%02d %%\n",
		received, e.GPUs, model, e.Price, e.Hours, paid, e.FeeBPS/100, e.FeeBPS%100)
	if reference > 0 {
		fmt.Fprintf(w, "            the market's reference price of %s is %s", model, reference)
	} else {
		fmt.Fprintf(w, "            the market has no reference price of %s", model)
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "; %d other nodes ask %s to %s\n", len(others), slices.Min(others), slices.Max(others))
	} else {
		fmt.Fprint(w, "; no other node offers it now\n")
	}
	_, err = fmt.Fprint(w, "            this is not a promise: a GPU earns only while it is leased, prices change, and electricity is yours to pay\n")
	return err
}
