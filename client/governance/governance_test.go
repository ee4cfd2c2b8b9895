package governance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

func TestParams(t *testing.T) {
	p, err := SetParams(market.DefaultParams(), []string{"fee_bps=1300", "noticeSecs=60"})
	require.NoError(t, err)
	require.EqualValues(t, 1_300, p.FeeBps)
	require.EqualValues(t, 60, p.NoticeSecs)
	for _, bad := range []string{"fee_bps", "fee=1", "fee_bps=-1", "fee_bps=99999", "fee_bps=x", "pad=1", `fee_bps=1,"quorumBps":0`} {
		_, err := SetParams(market.DefaultParams(), []string{bad})
		require.Error(t, err, bad)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, bad)
	}
	names, values := ParamList(market.DefaultParams())
	require.Len(t, names, 35)
	require.Equal(t, "1200", values["fee_bps"])
}

func TestPaused(t *testing.T) {
	for text, want := range map[string]uint8{"orders": 1, "awards": 2, "orders,awards": 3, "all": 3, "none": 0} {
		got, err := ParsePaused(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "rent", "orders,none"} {
		_, err := ParsePaused(text)
		require.Error(t, err, text)
	}
}
