package todo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Every finding of keepers has advice.
func TestEveryFlagHasAdvice(t *testing.T) {
	for bit := range 8 {
		require.NotEmpty(t, advice[1<<bit], records.Flags(1<<bit).String())
	}
	require.Empty(t, Advice(0))
	require.Contains(t, Advice(records.FlagOffline|records.FlagSlow), "; ")
}

// What keeps a machine from earning is named with what to do.
func TestToDo(t *testing.T) {
	var n market.Node
	var p market.Provider
	n.Status, n.RequiredStake, n.Stake, n.AvailableSince = uint8(market.NodeActive), 100, 100, 1
	require.Empty(t, Of(&n, &p, nil, nil, 1_000))
	n.Status, n.Stake, p.Stake = uint8(market.NodeSuspended), 40, 10
	n.MinOperations = 5
	var f market.Fault
	f.Flags, f.Amount, f.Period, f.ApplicableAt = uint16(records.FlagWorkFailed), uint64(60*market.OneGNT), 7, 2_000
	got := Of(&n, &p, []market.Fault{f}, nil, 1_000)
	require.Len(t, got, 3)
	require.Contains(t, got[0].What, "60 GNT of stake will be slashed from 1970-01-01 00:33 UTC on: work-failed in period 7")
	require.Contains(t, got[0].Do, "computes wrong results")
	require.Equal(t, Fault+"/"+f.Address.String(), got[0].Key)
	require.Equal(t, Suspended, got[1].Key)
	require.Contains(t, got[1].What, "suspended")
	require.Contains(t, got[2].Do, "gantry provider stake 0.00000005, then")
	n.Status, n.Stake = uint8(market.NodeActive), 100
	require.Contains(t, Of(&n, &p, nil, nil, 1_000)[0].What, "not measured yet")
	n.Shares, n.SharesLen = [6]uint16{5_000}, 1
	require.Contains(t, Of(&n, &p, nil, nil, 1_000)[0].What, "50.00 % of its class")
}
