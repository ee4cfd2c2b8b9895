package purchase

import "github.com/gantry-market/gantry/sdk/market"

// Spent is what the order of a purchase reserves at its highest price, and what its extensions cost. Error: market.ErrOverflow.
func (p *Purchase) Spent() (market.USDC, error) {
	sum, err := market.OrderCost(p.Args.MaxPrice, p.Args.GPUsPerNode, p.Args.Duration, p.Args.Nodes)
	if err != nil {
		return 0, err
	}
	for _, r := range p.Renewals {
		sum += market.USDC(r.Cost)
	}
	return sum, nil
}

// CameToNothing reports whether the purchase is over and no machine has taken its job.
func (p *Purchase) CameToNothing() bool { return p.Stage == Over && !p.Bought }

// Left is what the budget of a purchase leaves. Machines that were added to its private network count with the most that they may cost:
// their own part of the budget, or what their order reserves. Error: market.ErrOverflow.
func Left(p *Purchase, all []Purchase) (market.USDC, error) {
	sum, err := p.Spent()
	if err != nil {
		return 0, err
	}
	for i := range all {
		x := &all[i]
		if x.Joins != p.Order || x.CameToNothing() {
			continue
		}
		spent, err := x.Spent()
		if err != nil {
			return 0, err
		}
		sum += max(spent, market.USDC(x.Budget))
	}
	return market.USDC(p.Budget) - min(market.USDC(p.Budget), sum), nil
}
