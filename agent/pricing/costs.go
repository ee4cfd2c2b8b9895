package pricing

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gantry-market/gantry/sdk/market"
)

// Costs are what one GPU-hour costs its owner.
type Costs struct {
	// Power is the price of electricity, µUSDC per kWh.
	Power market.PricePerHour
	// Watts is what one GPU with its part of the machine draws from the wall while it works.
	Watts uint32
	// Wear is what an hour of work takes off the hardware's worth, µUSDC per GPU-hour.
	Wear market.PricePerHour
}

// DefaultCosts are used when the owner sets none: 0.12 USDC per kWh, 700 W, 0.05 USDC of wear an hour.
func DefaultCosts() Costs { return Costs{Power: 120_000, Watts: 700, Wear: 50_000} }

// ParseCosts reads the owner's settings; empty texts and 0 take the defaults. Errors: market.ErrAmount.
func ParseCosts(power string, watts uint32, wear string) (Costs, error) {
	c := DefaultCosts()
	var err error
	if power != "" {
		if c.Power, err = market.ParsePrice(power); err != nil {
			return c, fmt.Errorf("price of electricity: %w", err)
		}
	}
	if wear != "" {
		if c.Wear, err = market.ParsePrice(wear); err != nil {
			return c, fmt.Errorf("wear: %w", err)
		}
	}
	if watts != 0 {
		c.Watts = watts
	}
	return c, nil
}

// PerHour is Power × Watts / 1000 + Wear, rounded up.
func (c Costs) PerHour() market.PricePerHour {
	return sum(ceilDiv(uint64(c.Power), uint64(c.Watts), 1_000), c.Wear)
}

// Floor is the lowest price per GPU-hour that covers the costs after the protocol's fee: PerHour × 10,000 / (10,000 −
// fee), rounded up, and at least 1.
func (c Costs) Floor(feeBPS uint16) market.PricePerHour {
	left := uint64(bps) - uint64(min(feeBPS, bps-1))
	return max(ceilDiv(uint64(c.PerHour()), bps, left), 1)
}

// ceilDiv is a × b / d, rounded up; the largest price when it does not fit.
func ceilDiv(a, b, d uint64) market.PricePerHour {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, d-1, 0)
	hi += carry
	if hi >= d {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, d)
	return market.PricePerHour(q)
}

func sum(a, b market.PricePerHour) market.PricePerHour {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
