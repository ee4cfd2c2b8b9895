package instant

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/records"
)

// Each node's line is drawn first in one period of each window, in any of them, and never in none.
func TestALineIsDrawnOnceAWindow(t *testing.T) {
	const windows, nodes = 50, 100
	var at [LineWindow]int
	for w := range records.Period(windows) {
		for n := range nodes {
			node, drawn := solana.PublicKey{3, byte(n)}, -1
			for j := range records.Period(LineWindow) {
				p := w*LineWindow + j
				require.Equal(t, w*LineWindow, WindowOf(p, LineWindow))
				if i, _ := instantOf(p, 3600, 1); drawn < 0 && i.DrawsLine(node, LineWindow) {
					drawn = int(j)
				}
			}
			require.GreaterOrEqual(t, drawn, 0)
			at[drawn]++
		}
	}
	t.Log("first drawn in the window's period:", at)
	for _, n := range at {
		require.InDelta(t, windows*nodes/LineWindow, n, 80)
	}
}

func TestAWindowOfOnePeriodDrawsAll(t *testing.T) {
	i, _ := instantOf(7, 3600, 1)
	require.True(t, i.DrawsLine(solana.PublicKey{1}, 1))
	require.True(t, i.DrawsLine(solana.PublicKey{1}, 0))
}
