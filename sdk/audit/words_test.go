package audit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// Steps are read by people who decide by them whom to trust: plain durations, amounts and plurals.
func TestWordsOfSteps(t *testing.T) {
	for secs, want := range map[int64]string{0: "0 s", 27: "27 s", 60: "1 min", 600: "10 min", 5400: "1 h 30 min", 18_750: "5 h 12 min 30 s", 90_001: "1 d 1 h 1 s"} {
		require.Equal(t, want, span(secs))
	}
	require.Equal(t, "$0.266666", dollars(market.USDC(266_666)))
	require.Equal(t, "$1.26", dollars(market.PricePerHour(1_260_000)))
	require.Equal(t, "$0.00", dollars(market.USDC(0)))
	require.Equal(t, "1 machine with 1 GPU", machines(1, 1))
	require.Equal(t, "2 machines with 8 GPUs each", machines(2, 8))
}
