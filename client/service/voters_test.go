package service_test

import (
	"encoding/json"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// A vote has the name of the keeper that cast it, not of the one that has its place now.
func TestVotersAreThoseThatVoted(t *testing.T) {
	keeper := func(wallet byte, place uint16, since int64) (k market.Keeper) {
		k.Wallet, k.Index, k.ActiveSince = solana.PublicKey{wallet}, place, since
		return k
	}
	keepers := []market.Keeper{keeper(1, 0, 10), keeper(2, 1, 100), keeper(3, 2, 101), keeper(4, 65535, 5)}
	require.Equal(t, []string{solana.PublicKey{1}.String(), "1", "2", "9"}, service.Voters([32]uint8{0b111, 0b10}, 100, keepers))

	raw, err := json.Marshal(service.DescribeKeeper(&market.Market{}, &keepers[3]))
	require.NoError(t, err)
	require.NotContains(t, string(raw), `"index"`, "it has no place")
	raw, err = json.Marshal(service.DescribeKeeper(&market.Market{}, &keepers[0]))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"index":0`)
}
