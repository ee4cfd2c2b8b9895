package screen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpansBeginAndEnd(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		want     string
	}{
		{0, 1, "━━━━━━━━━━"},
		{0.2, 0.5, "··━━━·····"},
		{0.5, 0.5, "·····━····"},
		{1, 1, "·········━"},
		{-1, 0, "━·········"},
		{0.9, 7, "·········━"},
	} {
		require.Equal(t, c.want, plain.Span(c.from, c.to, 10, Good))
		coloured := plain
		coloured.Colour = true
		require.Equal(t, 10, Width(coloured.Span(c.from, c.to, 10, Good)))
	}
	require.Equal(t, "..###.....", ascii.Span(0.2, 0.5, 10, Good))
	require.Empty(t, plain.Span(0, 1, 0, Good))
}
