package market_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestVerifiedNeedsTimeUptimeCompletionFeesAndNoFault(t *testing.T) {
	const now, day = int64(2_000_000_000), int64(86_400)
	good := func() *market.Node {
		n := &market.Node{}
		n.UpSecs, n.ChecksTotal, n.UptimeBps, n.FeesCompleted = uint64(180*day), 1, 9_900, market.PriorFees
		n.FeesFailed, n.FaultedAt, n.Status = market.PriorFees/20, now-180*day, uint8(market.NodeActive)
		return n
	}
	require.Empty(t, good().Unverified(now))
	require.True(t, good().Verified(now))
	for lack, change := range map[string]func(*market.Node){
		"up for 179 of 180 days":                func(n *market.Node) { n.UpSecs-- },
		"uptime 0 % of 99 %":                    func(n *market.Node) { n.ChecksTotal = 0 },
		"uptime 98.99 % of 99 %":                func(n *market.Node) { n.UptimeBps-- },
		"fees of 144.00 of 144.00 USDC paid":    func(n *market.Node) { n.FeesCompleted-- },
		"completion 90.91 % of 95 %":            func(n *market.Node) { n.FeesFailed = n.FeesCompleted / 10 },
		"an upheld fault in the last half year": func(n *market.Node) { n.FaultedAt++ },
		"a lost dispute in the last half year":  func(n *market.Node) { n.DisputeLostAt = now - day },
		"it is suspended":                       func(n *market.Node) { n.Status = uint8(market.NodeSuspended) },
	} {
		n := good()
		change(n)
		require.Len(t, n.Unverified(now), 1, lack)
		require.False(t, n.Verified(now), lack)
		if lack != "fees of 144.00 of 144.00 USDC paid" && lack != "completion 90.91 % of 95 %" {
			require.Equal(t, []string{lack}, n.Unverified(now))
		}
	}
	require.EqualValues(t, 0, (&market.Node{}).CompletionBPS())
}
