package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestALeaseThatMovedTakesThePlaceOfTheFailedOne(t *testing.T) {
	lease := func(address byte) (l market.Lease) {
		l.Address, l.NodeKey = solana.PublicKey{address}, solana.PublicKey{address, 1}
		return l
	}
	member := func(address byte) messages.GroupMember {
		return messages.GroupMember{Lease: [32]byte{address}, Node: [32]byte{address, 1}}
	}
	first := grouped(nil, []market.Lease{lease(3), lease(1), lease(2)})
	require.Equal(t, []messages.GroupMember{member(1), member(2), member(3)}, first, "in the order of addresses")

	require.Equal(t, first, grouped(first, []market.Lease{lease(2), lease(3), lease(1)}), "the order in which they are seen does not matter")
	require.Equal(t, first, grouped(first, []market.Lease{lease(1), lease(3)}), "a failed lease keeps its place until another takes it")
	require.Equal(t, []messages.GroupMember{member(1), member(9), member(3)}, grouped(first, []market.Lease{lease(1), lease(3), lease(9)}))
	require.Equal(t, []messages.GroupMember{member(1), member(8), member(9)}, grouped(first, []market.Lease{lease(1), lease(8), lease(9)}))
	require.Equal(t, first, grouped(first, []market.Lease{lease(1), lease(2), lease(3), lease(4)}), "no more leases than places")
	require.Equal(t, []messages.GroupMember{member(1), member(2), member(3)}, first, "what was recorded is not changed in place")
}
