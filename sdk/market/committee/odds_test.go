package committee

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOdds(t *testing.T) {
	require.InDelta(t, 6.0/11628, Odds(19, 6, 5, 5), 1e-12, "C(6,5) of C(19,5)")
	require.InDelta(t, 1, Odds(19, 6, 5, 0), 1e-12)
	require.Zero(t, Odds(4, 1, 5, 1), "no such committee")
	require.Zero(t, Odds(19, 6, 13, 7), "most of 2f+1 cannot be dishonest")
	require.Equal(t, 13, SafeSize(19, 6, 1e-9), "so that no smaller committee is safe")
	require.Less(t, SafeSize(256, 85, 1e-9), 256)
}

// The odds are those of the draw.
func TestDrawsHaveTheseOdds(t *testing.T) {
	const n, f, nodes = 19, 6, 30_000
	r := NewRoster(Seed{3}, equal(n))
	var most, all int
	for node := range nodes {
		dishonest := 0
		for _, i := range r.Draw(nil, key(50_000+node)) {
			if i < f {
				dishonest++
			}
		}
		if dishonest >= Quorum {
			most++
		}
		if dishonest == Size {
			all++
		}
	}
	require.InDelta(t, Odds(n, f, Size, Quorum), float64(most)/nodes, 0.012)
	require.InDelta(t, Odds(n, f, Size, Size), float64(all)/nodes, 0.001)
}
