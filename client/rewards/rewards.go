// Package rewards shows and moves what becomes of the market's fees: what keepers have earned, the buy-back of GNT, the stake that
// providers are given, and the parts of slashes that wait for somebody.
package rewards

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// DaySecs is how long the price of a buy-back falls.
const DaySecs = 86_400

// BuyBack is the running buy-back.
type BuyBack struct {
	Waiting  string `json:"waiting"` // USDC
	CostsNow string `json:"costsNow,omitempty"`
	Lowest   string `json:"lowestCost,omitempty"`
	Since    int64  `json:"since,omitempty"`
	LowestAt int64  `json:"lowestAt,omitempty"`
	Burned   string `json:"burnedSoFar"` // GNT, by all buy-backs
}

// Earned is what a keeper may claim.
type Earned struct {
	Wallet  string   `json:"wallet"`
	Awards  string   `json:"byAwards"`
	Votes   string   `json:"byVotes"`
	Periods []uint64 `json:"periods"` // of the reports that give something for its votes
	Total   string   `json:"total"`
}

// Rewards is where the fees are.
type Rewards struct {
	Pending    string   `json:"pending"` // swept, not split yet
	ForAwards  string   `json:"forAwards"`
	ForVotes   string   `json:"forVotes"`
	LastPeriod uint64   `json:"lastRewardedPeriod"`
	BuyBack    BuyBack  `json:"buyBack"`
	Keepers    []Earned `json:"keepers"`
}

// Find reads the account of the market's fees.
func Find(ctx context.Context, client *chain.Client) (market.Rewards, error) {
	r, ok, err := query.Find[market.Rewards](ctx, client, market.RewardsAddress(), client.WaitLevel())
	if err == nil && !ok {
		err = service.Refused("this market keeps no account of its fees", "its program is older than this command")
	}
	return r, err
}

// Describe describes where the fees are; v has the keepers and the reports, and price is that of stake.
func Describe(r *market.Rewards, v *view.View, price market.USDC, now int64) (out Rewards, err error) {
	out = Rewards{
		Pending: market.USDC(r.Pending).Exact(), ForAwards: market.USDC(r.Earned).Exact(), ForVotes: market.USDC(r.Allocated).Exact(),
		LastPeriod: r.LastPeriod, Keepers: []Earned{},
	}
	if out.BuyBack, err = DescribeBuyBack(r, price, now); err != nil {
		return out, err
	}
	for _, k := range v.Keepers() {
		awards, votes, periods := earnedBy(v, &k)
		out.Keepers = append(out.Keepers, Earned{k.Wallet.String(), awards.Exact(), votes.Exact(), periods, (awards + votes).Exact()})
	}
	return out, nil
}

func DescribeBuyBack(r *market.Rewards, price market.USDC, now int64) (BuyBack, error) {
	out := BuyBack{Waiting: market.USDC(r.BuyBack).Exact(), Burned: market.GNT(r.BoughtBack).String()}
	if r.BuyBack == 0 {
		return out, nil
	}
	cost, err := r.BuyBackCost(price, now)
	if err != nil {
		return out, fmt.Errorf("price of the buy-back: %w", err)
	}
	lowest, err := r.BuyBackCost(price, r.BuyBackSince+DaySecs)
	if err != nil {
		return out, fmt.Errorf("price of the buy-back: %w", err)
	}
	out.CostsNow, out.Lowest, out.Since, out.LowestAt = cost.String(), lowest.String(), r.BuyBackSince, r.BuyBackSince+DaySecs
	return out, nil
}

func (j BuyBack) Text() string {
	if j.CostsNow == "" {
		return "nothing waits for one"
	}
	return fmt.Sprintf("%s USDC for %s GNT burned now; %s GNT from %s UTC on, if nobody takes it before", j.Waiting, j.CostsNow, j.Lowest, service.When(j.LowestAt))
}

// Affordable is what the buy-back costs now, or why it is not to be had for most.
func Affordable(r *market.Rewards, price market.USDC, most market.GNT, now int64) (market.GNT, error) {
	if r.BuyBack == 0 {
		return 0, service.Refused("no fees wait for a buy-back", "they come when swept fees are split: gantry rewards show")
	}
	cost, err := r.BuyBackCost(price, now)
	if err != nil {
		return 0, fmt.Errorf("price of the buy-back: %w", err)
	}
	if cost <= most {
		return cost, nil
	}
	reason := fmt.Sprintf("buy-back refused: %s USDC cost %s GNT now, --max is %s", market.USDC(r.BuyBack).Exact(), cost, most)
	// What it costs only falls: the first second in which it is cheap enough.
	early, late := max(now, r.BuyBackSince), r.BuyBackSince+DaySecs
	if least, err := r.BuyBackCost(price, late); err != nil || least > most || late < early {
		return 0, service.Refused(reason, "raise --max; it never costs less than "+least.String())
	}
	for early < late {
		middle := early + (late-early)/2
		if c, err := r.BuyBackCost(price, middle); err == nil && c <= most {
			late = middle
		} else {
			early = middle + 1
		}
	}
	return 0, service.Refused(reason, fmt.Sprintf("raise --max, or wait until %s UTC, if nobody takes it before", service.When(late)))
}

// Bought is a buy-back.
type Bought struct {
	Buyer  string       `json:"buyer"`
	Burned string       `json:"burned,omitempty"` // GNT
	Paid   string       `json:"paid,omitempty"`   // USDC
	Tx     service.Sent `json:"transaction"`
	service.Moved
}
