package purchase

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// order is a purchase of machines for 100 seconds at 36 USDC per GPU-hour, which reserve 1 USDC each.
func order(id byte, nodes uint8) Purchase {
	p := Purchase{Order: solana.PublicKey{id}, Stage: Handed}
	p.Args.MaxPrice, p.Args.GPUsPerNode, p.Args.Duration, p.Args.Nodes = 36_000_000, 1, 100, nodes
	return p
}

// What was added to a cluster takes of its budget: a part of its own, or what its order reserves. What came to nothing takes nothing.
func TestWhatIsLeftOfABudget(t *testing.T) {
	first := order(1, 2)
	first.Budget, first.Renewals = uint64(20*market.OneUSDC), map[string]Renewal{"a": {Cost: 1_500_000}}
	plain, own, nothing, other := order(2, 3), order(3, 1), order(4, 5), order(5, 6)
	plain.Joins, own.Joins, nothing.Joins, other.Joins = first.Order, first.Order, first.Order, solana.PublicKey{9}
	own.Budget = 4_000_000
	nothing.Stage = Over
	for _, c := range []struct {
		all  []Purchase
		want market.USDC
	}{
		{nil, 16_500_000},
		{[]Purchase{first, other, nothing}, 16_500_000},
		{[]Purchase{first, plain}, 13_500_000},
		{[]Purchase{plain, own, first}, 9_500_000},
	} {
		left, err := Left(&first, c.all)
		require.NoError(t, err)
		require.Equal(t, c.want, left)
	}
	nothing.Bought = true // its machines were paid, and are over
	plain.Args.Nodes = 11
	left, err := Left(&first, []Purchase{plain, nothing})
	require.NoError(t, err)
	require.EqualValues(t, 500_000, left)
	own.Budget = 1 << 40
	left, err = Left(&first, []Purchase{own})
	require.NoError(t, err)
	require.Zero(t, left)
	first.Args.MaxPrice, first.Args.Duration = 1<<63, 1<<31
	_, err = Left(&first, nil)
	require.ErrorIs(t, err, market.ErrOverflow)
}

// Machines that are added have the name of the first order: the server that bought under it attends them.
func TestAddedMachinesHaveTheNameOfTheCluster(t *testing.T) {
	first, added, lost := order(1, 2), order(2, 1), order(3, 1)
	first.Name, added.Joins, lost.Joins = "http/train", first.Order, solana.PublicKey{9}
	all := []Purchase{added, first, lost}
	require.Equal(t, "http/train", NameOf(all, &added))
	require.Equal(t, "http/train", NameOf(all, &first))
	require.Empty(t, NameOf(all, &lost))
}
