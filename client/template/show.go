package template

import (
	"fmt"

	"github.com/gantry-market/gantry/sdk/market"
)

// TryCost is in words what an order reserves that names the template alone; - where its price is wrong.
func (t *Template) TryCost() string {
	price, err := market.ParsePrice(t.Try.MaxPrice)
	if err != nil {
		return "-" // no template is read that has none
	}
	cost, err := market.OrderCost(price, t.GPU.Count, t.Try.Minutes*60, 1)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%s USDC: %d minutes of %d×%s", cost, t.Try.Minutes, t.GPU.Count, t.Try.GPU)
}

// Shown is in words what a parameter is that nobody sets.
func (p *Parameter) Shown() string {
	switch {
	case p.Required:
		return "(required)"
	case p.Default == "":
		return "-"
	}
	return p.Default
}
