package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func TestRankAndStagger(t *testing.T) {
	keepers := []solana.PublicKey{{1}, {2}, {3}, {4}}
	firsts := map[solana.PublicKey]int{}
	for i := range 400 {
		item := fmt.Sprint("item ", i)
		seen := map[int]bool{}
		for _, k := range keepers {
			r := Rank(k, item, keepers)
			require.False(t, seen[r])
			seen[r] = true
			if r == 0 {
				firsts[k]++
			}
		}
		require.Len(t, seen, 4)
	}
	for _, n := range firsts {
		require.Greater(t, n, 50)
	}
	s := NewStagger()
	at := time.Unix(1000, 0)
	require.True(t, s.Ready("a", at, 0, time.Second))
	require.False(t, s.Ready("b", at, 2, time.Second))
	require.False(t, s.Ready("b", at.Add(1999*time.Millisecond), 2, time.Second))
	require.True(t, s.Ready("b", at.Add(2*time.Second), 2, time.Second))
	s.Keep(map[string]bool{"a": true})
	require.False(t, s.Ready("b", at.Add(3*time.Second), 2, time.Second), "forgotten")
}
