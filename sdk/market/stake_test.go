package market_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// The figures of the design: a 4090 sold as an H100 gains 1.15 USD an hour; half of the stake is slashed, and half of
// that is burned.
func TestLeastStakeOfACheat(t *testing.T) {
	p := market.DefaultParams()
	of := func(hours float64) float64 {
		return market.LeastStakeUSD(&p, market.Cheat{Gain: 1.15, Detections: 1 / hours})
	}
	require.InDelta(t, 115, of(25), 1e-9)
	require.InDelta(t, 3_312, of(720), 1e-9)
	require.Zero(t, market.LeastStakeUSD(&p, market.Cheat{Gain: 1, Cost: 2, Detections: 1}), "a relay that costs more than it brings needs no stake")
	require.True(t, math.IsInf(market.LeastStakeUSD(&p, market.Cheat{Gain: 1}), 1), "no stake stops what is never found")
}

// The least stake holds both relations of a model, and a hundredth less breaks one.
func TestLeastStakeIsTheLeast(t *testing.T) {
	p := market.DefaultParams()
	for _, price := range []market.PricePerHour{200_000, 500_000, 1_300_000, 2_400_000, 4_500_000} {
		stake, ok := market.LeastStake(&p, price)
		require.True(t, ok)
		require.Zero(t, stake%market.OneGNT)
		require.Empty(t, broken(market.ModelRelations(&p, model(stake, price))), price)
		require.NotEmpty(t, broken(market.ModelRelations(&p, model(stake-market.OneGNT, price))), price)
	}
	p.SlashBadWorkBps = 0
	_, ok := market.LeastStake(&p, 1_000_000)
	require.False(t, ok)
}
