package instant

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

// Each node's line is drawn first in one period of each window, in any of them, and never in none.
func TestALineIsDrawnOnceAWindow(t *testing.T) {
	const windows, nodes, secs = 50, 100, 3600
	window := records.Period(LineWindow(secs))
	at := make([]int, window)
	for w := range records.Period(windows) {
		for n := range nodes {
			node, drawn := solana.PublicKey{3, byte(n)}, -1
			for j := range window {
				p := w*window + j
				require.Equal(t, w*window, WindowOf(p, secs))
				if i, _ := instantOf(p, secs, 1); drawn < 0 && i.DrawsLine(node, secs) {
					drawn = int(j)
				}
			}
			require.GreaterOrEqual(t, drawn, 0)
			at[drawn]++
		}
	}
	t.Log("first drawn in the window's period:", at)
	for _, n := range at {
		require.InDelta(t, windows*nodes/int(window), n, 80)
	}
}
