package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// repriced is the usual history with a proof after 10 paid seconds that halves the price.
func repriced(t *testing.T) (*leaseHistory, []Tx) {
	t.Helper()
	s := newLeaseHistory(t)
	// 10 s at 3.60 and 15 s at 1.80.
	s.byReport = &bindings.LeaseSettled{Lease: s.lease, Source: 2, PaidSecs: 25, Paid: 17_500, ProviderAmount: 6_600, FeeTotal: 2_100}
	s.ended.Released = 660_000 - 10_000 - 20*500
	s.closed = &bindings.LeaseClosed{Lease: s.lease, Fee: 2_100, Released: 2_500, Paid: 17_500, PaidSecs: 25}
	txs := s.txs(t)
	proof := Tx{Slot: 6, Time: time.Unix(1_800_000_006, 0), Events: []market.Event{{Value: &bindings.UnjustAwardProven{
		Lease: s.lease, AwardedScore: 3_870_000, BetterScore: 1_935_000, Price: 1_800_000, ServedSecs: 10, Served: 10_000, Amount: 20, FinderShare: 2, Burned: 18,
	}}}}
	return s, append(txs[:5:5], append([]Tx{proof}, txs[5:]...)...)
}

func TestAnUnjustAwardIsRepriced(t *testing.T) {
	s, txs := repriced(t)
	options := Options{Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}
	l := rebuild(options, s.lease, s.awarded, 1, txs, s.roots)
	require.Empty(t, problemsOf(l))
	require.Equal(t, market.PricePerHour(1_800_000), l.Price)
	require.Equal(t, market.USDC(17_500), l.Paid)
	require.Equal(t, market.USDC(640_000+2_500), l.Refunded)

	// Its keeper has no share of the fee, and what was paid is not paid again at the former price.
	s.closed.Award = 210
	require.Contains(t, problemsOf(rebuild(options, s.lease, s.awarded, 1, txs, s.roots)), "though its award was shown to be unjust")
	s.closed.Award = 0
	s.byReport.Paid = 25_000
	require.Contains(t, problemsOf(rebuild(options, s.lease, s.awarded, 1, txs, s.roots)), "the price of the time")
}

func TestAKeeperThatStopsAnAuctionEarnsNothing(t *testing.T) {
	for _, first := range []bool{false, true} {
		s := newLeaseHistory(t)
		s.closed.Award = 300
		s.awarded.Keeper = pub("keeper")
		award := func(node, keeper string) market.Event {
			return market.Event{Value: &bindings.AuctionAwarded{
				Order: s.order, Node: pub(node), Keeper: pub(keeper), Bid: 3_600_000, Price: 3_600_000, Score: 3_870_000, BarNode: pub("bar"), BarScore: 3_870_000,
			}}
		}
		events := []market.Event{award("node", "keeper"), award("node 2", "another")}
		if !first {
			events = []market.Event{award("node 2", "another"), award("node", "keeper")}
		}
		txs := s.txs(t)
		txs[1].Events = append(txs[1].Events, events...)
		l := rebuild(Options{Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}, s.lease, s.awarded, 1, txs, s.roots)
		if first {
			require.Contains(t, problemsOf(l), "though it left other awards of the order to another keeper")
		} else {
			require.NotContains(t, problemsOf(l), "though")
		}
	}
}
