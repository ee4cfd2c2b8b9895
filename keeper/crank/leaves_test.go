package crank

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// docs/reports/keeper-economics.md counts with so many leaves in a transaction: it is what keepers pay most for.
func TestLeavesOfATransaction(t *testing.T) {
	for _, c := range []struct {
		nodes  int
		leaves int
	}{{8, 2}, {200, 1}, {1_000, 1}, {40_000, 1}} {
		depth := 0
		for n := 1; n < c.nodes; n *= 2 {
			depth++
		}
		actions := make([]Action, 8)
		for i := range actions {
			p := ix.LeafProof{
				Leaf:     records.Leaf{Node: solana.PublicKey{1, byte(i)}, Period: 7, Lease: solana.PublicKey{2, byte(i)}},
				Siblings: make([]records.Hash, depth),
			}
			instruction, err := ix.ReportApply(p)
			require.NoError(t, err)
			actions[i] = Action{Kind: ReportApply, Key: string(rune('a' + i)), Instructions: []solana.Instruction{instruction}}
		}
		got := Pack(actions, solana.PublicKey{9}, maxBatch, nil)
		require.Len(t, got[0].Actions, c.leaves, "%d nodes", c.nodes)
	}
}
