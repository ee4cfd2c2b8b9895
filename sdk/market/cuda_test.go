package market_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestVersionsOfCUDA(t *testing.T) {
	for text, want := range map[string]market.CUDA{"12.4": 1204, "13": 1300, "12.8.1": 1208, "11.0": 1100} {
		got, err := market.ParseCUDA(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "12.", ".4", "12.x", "-1.2", "12.100", "601", "twelve"} {
		_, err := market.ParseCUDA(text)
		require.ErrorIs(t, err, market.ErrCUDA, text)
	}
	require.Equal(t, "12.4", market.CUDA(1204).String())
	require.Empty(t, market.CUDA(0).String())
}
