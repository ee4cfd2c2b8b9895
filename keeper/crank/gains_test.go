package crank

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// 10 USDC wait at a governance price of 1 USDC: 20 tokens at first, 10 after eight hours, 5 from a day on.
func waiting(since int64) *view.Accounts {
	v := newMoneyView()
	v.Market.Params.StakePrice = uint64(market.OneUSDC)
	setRewards(v, func(r *market.Rewards) { r.BuyBack, r.BuyBackSince = 10_000_000, since })
	return v
}

func gained(t *testing.T, v *view.Accounts, g Gains) []Kind {
	g.Self = self
	if g.Tokens == nil {
		g.Tokens = func() market.GNT { return 100 * market.OneGNT }
	}
	actions, err := g.Due(v, now)
	require.NoError(t, err)
	var out []Kind
	for _, a := range actions {
		out = append(out, a.Kind)
	}
	return out
}

func TestBuyBacksThatPay(t *testing.T) {
	at := func(hours int64) *view.Accounts { return waiting(now - Margin - hours*3_600) }
	dear, cheap := Gains{Price: market.OneUSDC}, Gains{Price: market.OneUSDC / 2}
	require.Empty(t, gained(t, at(7), dear), "not yet")
	require.Equal(t, []Kind{RewardsBuyBack}, gained(t, at(8), dear), "it costs what it is worth")
	require.Equal(t, []Kind{RewardsBuyBack}, gained(t, at(0), cheap), "who values tokens less has it first")
	require.Empty(t, gained(t, at(24), Gains{}), "no price, no purchase")
	dear.Least = 5*market.OneUSDC + 1
	require.Empty(t, gained(t, at(24), dear), "the profit is 5 USDC")
	dear.Least--
	require.Equal(t, []Kind{RewardsBuyBack}, gained(t, at(24), dear))
	dear.Tokens = func() market.GNT { return 5*market.OneGNT - 1 }
	require.Empty(t, gained(t, at(24), dear), "more than the wallet holds")
	v := at(24)
	v.Rewards.BuyBack = 0
	require.Empty(t, gained(t, v, cheap), "nothing waits")
}

func TestEmissionOfTheOwnProvider(t *testing.T) {
	with := func(wallet solana.PublicKey, earned uint64) *view.Accounts {
		v := waiting(now)
		v.Rewards.BuyBack = 0
		p := &market.Provider{Meta: market.Meta{Address: market.ProviderAddress(wallet)}}
		p.Wallet, p.Emission = wallet, earned
		v.Put(p.Address, p)
		return v
	}
	least := Gains{Least: market.OneUSDC}
	require.Equal(t, []Kind{EmissionClaim}, gained(t, with(self, uint64(market.OneGNT)), least))
	require.Empty(t, gained(t, with(self, uint64(market.OneGNT)-1_000), least), "less than it is worth to send it")
	require.Empty(t, gained(t, with(self, 0), Gains{}), "nothing was earned")
	require.Empty(t, gained(t, with(solana.PublicKey{77}, uint64(market.OneGNT)), least), "another's")
}
