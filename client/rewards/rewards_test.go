package rewards

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func TestBuyBackAdvice(t *testing.T) {
	const since = 1_800_000_000
	r := market.Rewards{}
	_, err := Affordable(&r, market.OneUSDC, 1, since)
	require.ErrorContains(t, err, "no fees wait for a buy-back")
	r.BuyBack, r.BuyBackSince = 8_000, since // 16,000,000 base units at first, 4,000,000 a day later
	cost, err := Affordable(&r, market.OneUSDC, 16_000_000, since)
	require.NoError(t, err)
	require.EqualValues(t, 16_000_000, cost)

	_, err = Affordable(&r, market.OneUSDC, 15_999_999, since)
	f := service.Classify(err)
	require.Equal(t, service.CodeRefused, f.Code)
	require.Equal(t, "buy-back refused: 0.008000 USDC cost 0.016 GNT now, --max is 0.015999999", f.Reason)
	require.Equal(t, "raise --max, or wait until "+service.When(since+6)+" UTC, if nobody takes it before", f.Advice, "a basis point takes 5.76 s")
	_, err = Affordable(&r, market.OneUSDC, 6_400_000, since+100)
	require.ErrorContains(t, err, service.When(since+DaySecs/2))
	for _, now := range []int64{since, since + DaySecs, since + 10*DaySecs} {
		_, err = Affordable(&r, market.OneUSDC, 3_999_999, now)
		require.ErrorContains(t, err, "it never costs less than 0.004")
	}
	// The second that is named is the first one.
	for most := market.GNT(4_000_000); most < 16_000_000; most += 77_777 {
		_, err := Affordable(&r, market.OneUSDC, most, since)
		at := int64(since)
		for {
			if c, err := r.BuyBackCost(market.OneUSDC, at); err == nil && c <= most {
				break
			}
			at++
		}
		require.ErrorContains(t, err, service.When(at), "%d", most)
	}
	j, err := DescribeBuyBack(&r, market.OneUSDC, since+DaySecs/2)
	require.NoError(t, err)
	require.Equal(t, "0.008000 USDC for 0.0064 GNT burned now; 0.004 GNT from "+service.When(since+DaySecs)+" UTC on, if nobody takes it before", j.Text())
	j, err = DescribeBuyBack(&market.Rewards{}, market.OneUSDC, since)
	require.NoError(t, err)
	require.Equal(t, "nothing waits for one", j.Text())
}

func TestEarned(t *testing.T) {
	v := view.New(view.Options{})
	k := market.Keeper{}
	k.Earned = 7
	awards, votes, periods := earnedBy(v, &k)
	require.Equal(t, market.USDC(7), awards)
	require.Zero(t, votes)
	require.Equal(t, []uint64{}, periods)
}
