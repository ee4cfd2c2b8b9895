package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
)

// Machines that are added get their part of what is left of the cluster's budget, by their number, and at least what they reserve. Whatever
// is added and extended, the sum stays within the budget.
func TestAddedMachinesShareTheBudget(t *testing.T) {
	order := func(id byte, nodes uint8) purchase.Purchase {
		p := purchase.Purchase{Order: solana.PublicKey{id}, Stage: purchase.Handed, UntilStopped: true}
		p.Args.MaxPrice, p.Args.GPUsPerNode, p.Args.Duration, p.Args.Nodes = 36_000_000, 1, 100, nodes // 1 USDC a machine
		return p
	}
	first := order(1, 2)
	first.Budget = uint64(12 * market.OneUSDC)
	all := []purchase.Purchase{first}
	add := func(p purchase.Purchase, nodes int) (market.USDC, error) {
		p.Joins = first.Order
		reserves, err := p.Spent()
		require.NoError(t, err)
		if err := shareBudget(&p, all, &first, reserves, nodes); err != nil {
			return 0, err
		}
		all = append(all, p)
		left, err := purchase.Left(&first, all)
		require.NoError(t, err)
		spent := market.USDC(first.Budget) - left
		require.LessOrEqual(t, spent, market.USDC(first.Budget))
		return market.USDC(p.Budget), nil
	}
	part, err := add(order(2, 2), 4) // 10 are left, 2 of them reserved: half of the machines get half of the other 8
	require.NoError(t, err)
	require.Equal(t, 6*market.OneUSDC, part)
	attended := order(3, 3) // nobody extends it: it takes what it reserves
	attended.UntilStopped = false
	part, err = add(attended, 7)
	require.NoError(t, err)
	require.Zero(t, part)
	_, err = add(order(4, 2), 9)
	require.ErrorContains(t, err, "the cluster's budget of 12.00 USDC has 1.00 left, and the machines reserve 2.00")
	part, err = add(order(5, 1), 8)
	require.NoError(t, err)
	require.Equal(t, market.OneUSDC, part)
	left, err := purchase.Left(&first, all)
	require.NoError(t, err)
	require.Zero(t, left)
}
