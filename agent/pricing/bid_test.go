package pricing

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestCosts(t *testing.T) {
	c := Costs{Power: 120_000, Watts: 700, Wear: 50_000}
	require.EqualValues(t, 134_000, c.PerHour())
	require.EqualValues(t, 134_000, c.Floor(0))
	require.EqualValues(t, 152_273, c.Floor(1_200), "134,000 / 0.88, rounded up")
	require.EqualValues(t, 1, Costs{}.Floor(1_200), "a bid of nothing is none")
	require.EqualValues(t, uint64(math.MaxUint64), Costs{Power: math.MaxUint64, Watts: math.MaxUint32}.Floor(1_200))
}

func TestBid(t *testing.T) {
	prices := func(p ...market.PricePerHour) []market.PricePerHour { return p }
	costs := Costs{Wear: 200_000}
	for name, c := range map[string]struct {
		policy Policy
		s      BidInputs
		want   market.PricePerHour
	}{
		"idle":                {FollowMarket{}, BidInputs{Costs: costs, Reference: 1_000_000}, 200_000},
		"half":                {FollowMarket{}, BidInputs{Costs: costs, Reference: 1_000_000, UtilisationBPS: 5_000}, 600_000},
		"always leased":       {FollowMarket{}, BidInputs{Costs: costs, Reference: 1_000_000, UtilisationBPS: 10_000}, 1_000_000},
		"asks before ref":     {FollowMarket{}, BidInputs{Costs: costs, Others: prices(900_000), Reference: 9, UtilisationBPS: 10_000}, 900_000},
		"leases before asks":  {FollowMarket{}, BidInputs{Costs: costs, Recent: prices(5e5, 6e5, 7e5), Others: prices(9e5), UtilisationBPS: 10_000}, 600_000},
		"two are no market":   {FollowMarket{}, BidInputs{Costs: costs, Recent: prices(5e5, 6e5), Others: prices(9e5), UtilisationBPS: 10_000}, 900_000},
		"cheap market":        {FollowMarket{}, BidInputs{Costs: costs, Reference: 100_000, UtilisationBPS: 10_000}, 200_000},
		"own floor":           {FollowMarket{Floor: 300_000}, BidInputs{Costs: costs, Reference: 1_000_000}, 300_000},
		"fixed":               {Fixed(700_000), BidInputs{Costs: costs, Reference: 1_000_000}, 700_000},
		"fixed below costs":   {Fixed(100_000), BidInputs{Costs: costs}, 200_000},
		"nothing to go by":    {FollowMarket{}, BidInputs{}, 1},
		"costs with the fee":  {FollowMarket{}, BidInputs{Costs: costs, FeeBPS: 2_000}, 250_000},
		"more than all of it": {FollowMarket{}, BidInputs{Costs: costs, Reference: 1_000_000, UtilisationBPS: 20_000}, 1_000_000},
	} {
		require.Equal(t, c.want, Bid(c.policy, c.s), name)
	}
}

// drawInputs draws realistic prices.
func drawInputs(t *rapid.T) BidInputs {
	price := rapid.Custom(func(t *rapid.T) market.PricePerHour {
		return market.PricePerHour(rapid.Uint64Range(0, 1<<45).Draw(t, "price"))
	})
	return BidInputs{
		Costs: Costs{
			Power: price.Draw(t, "power"), Watts: rapid.Uint32Range(0, 20_000).Draw(t, "watts"), Wear: price.Draw(t, "wear"),
		},
		FeeBPS: uint16(rapid.IntRange(0, 1_500).Draw(t, "fee")), UtilisationBPS: uint16(rapid.IntRange(0, 10_000).Draw(t, "utilisation")),
		Recent: rapid.SliceOfN(price, 0, 6).Draw(t, "recent"), Others: rapid.SliceOfN(price, 0, 6).Draw(t, "others"), Reference: price.Draw(t, "reference"),
	}
}

func drawPolicy(t *rapid.T) Policy {
	p := market.PricePerHour(rapid.Uint64Range(1, 1<<45).Draw(t, "own"))
	if rapid.Bool().Draw(t, "fixed") {
		return Fixed(p)
	}
	return FollowMarket{Floor: p}
}

// What is left of a bid after the fee covers the costs.
func TestBidIsNeverBelowTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := drawInputs(t), drawPolicy(t)
		bid := Bid(p, s)
		require.GreaterOrEqual(t, bid, s.Costs.Floor(s.FeeBPS))
		require.Positive(t, bid)
		n := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
		left := n(uint64(bid))
		left.Mul(left, n(uint64(10_000-s.FeeBPS))).Quo(left, n(10_000))
		require.GreaterOrEqual(t, left.Cmp(n(uint64(s.Costs.PerHour()))), 0)
		if f, ok := p.(FollowMarket); ok {
			require.GreaterOrEqual(t, bid, f.Floor)
			require.LessOrEqual(t, bid, max(s.Rate(), s.Costs.Floor(s.FeeBPS), f.Floor))
		}
	})
}

// Who is busier, pays more or sees a dearer market never bids less.
func TestBidIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := drawInputs(t), drawPolicy(t)
		more := s
		switch rapid.SampledFrom([]string{"utilisation", "power", "watts", "wear", "fee", "reference", "leases", "asks"}).Draw(t, "what") {
		case "utilisation":
			more.UtilisationBPS = uint16(rapid.IntRange(int(s.UtilisationBPS), 10_000).Draw(t, "more"))
		case "power":
			more.Costs.Power += market.PricePerHour(rapid.Uint64Range(0, 1<<40).Draw(t, "more"))
		case "watts":
			more.Costs.Watts += rapid.Uint32Range(0, 9_999).Draw(t, "more")
		case "wear":
			more.Costs.Wear += market.PricePerHour(rapid.Uint64Range(0, 1<<40).Draw(t, "more"))
		case "fee":
			more.FeeBPS = uint16(rapid.IntRange(int(s.FeeBPS), 1_500).Draw(t, "more"))
		case "reference":
			more.Reference += market.PricePerHour(rapid.Uint64Range(0, 1<<40).Draw(t, "more"))
		case "leases":
			more.Recent = raised(t, s.Recent)
		case "asks":
			more.Others = raised(t, s.Others)
		}
		require.GreaterOrEqual(t, Bid(p, more), Bid(p, s))
	})
}

func raised(t *rapid.T, prices []market.PricePerHour) []market.PricePerHour {
	out := make([]market.PricePerHour, len(prices))
	for i, p := range prices {
		out[i] = p + market.PricePerHour(rapid.Uint64Range(0, 1<<40).Draw(t, "rise"))
	}
	return out
}

func TestUtilisation(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(h float64) time.Time { return now.Add(-time.Duration(h * float64(time.Hour))) }
	old := ago(1_000)
	for name, c := range map[string]struct {
		work       []LeasedTime
		gpus       int
		registered time.Time
		want       uint16
	}{
		"idle":             {nil, 8, old, 0},
		"no GPUs":          {[]LeasedTime{{From: ago(5), GPUs: 1}}, 0, old, 0},
		"half the GPUs":    {[]LeasedTime{{From: ago(30), GPUs: 4}}, 8, old, 5_000},
		"six hours":        {[]LeasedTime{{From: ago(10), To: ago(4), GPUs: 8}}, 8, old, 2_500},
		"long ago":         {[]LeasedTime{{From: ago(60), To: ago(40), GPUs: 8}}, 8, old, 0},
		"a new machine":    {[]LeasedTime{{From: ago(2), GPUs: 8}}, 8, ago(4), 5_000},
		"just registered":  {[]LeasedTime{{From: ago(0.5), GPUs: 8}}, 8, ago(0.5), 5_000},
		"more than it has": {[]LeasedTime{{From: ago(30), GPUs: 8}, {From: ago(30), GPUs: 8}}, 8, old, 10_000},
		"begins later":     {[]LeasedTime{{From: now.Add(time.Hour), GPUs: 8}}, 8, old, 0},
	} {
		require.Equal(t, c.want, Utilisation(c.work, c.gpus, c.registered, now), name)
	}
}
