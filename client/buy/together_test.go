package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestLeasesThatHaveNotStartedStartTogether(t *testing.T) {
	members := []messages.GroupMember{{Lease: [32]byte{1}}, {Lease: [32]byte{2}}, {Lease: [32]byte{3}}, {Lease: [32]byte{4}}}
	lease := func(address byte, state market.LeaseStatus, continues uint8) (l market.Lease) {
		l.Address, l.Status, l.Continues = solana.PublicKey{address}, uint8(state), continues
		return l
	}
	all := []market.Lease{lease(3, market.LeaseAwarded, 0), lease(1, market.LeaseAwarded, 0), lease(2, market.LeaseAwarded, 0)}
	require.EqualValues(t, 0b0111, together(members, all), "the fourth is of another order")
	all[1] = lease(1, market.LeaseRunning, 0)
	require.EqualValues(t, 0b0110, together(members, all))
	all[2] = lease(2, market.LeaseAwarded, 1)
	require.EqualValues(t, 0b0100, together(members, all), "a lease that continues a failed one starts alone")
	require.Zero(t, together(members, []market.Lease{lease(9, market.LeaseAwarded, 0)}), "it has no place")
}
