package moves

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentilesAreNearestRanks(t *testing.T) {
	var all []time.Duration
	require.NotEqual(t, 0.0, at(all, 0.5), "of nothing there is none")
	for i := range 20 {
		all = append(all, time.Duration(i+1)*time.Second)
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 10, 0.9: 18, 0.95: 19, 1: 20} {
		require.Equal(t, want, at(all, share), share)
	}
}

func TestThePageCountsWhatWasInTime(t *testing.T) {
	r := &Result{Moves: []Move{{Started: 10 * time.Second, Paid: -time.Second}, {Started: 16 * time.Second}}}
	var b strings.Builder
	require.NoError(t, r.Markdown(&b))
	require.Contains(t, b.String(), "1 of 2 leases ran on another machine within 15 s")
	require.Contains(t, b.String(), "| **lease runs there, s** | 10.0 | 10.0 | 16.0 | 16.0 | 16.0 |")
	require.Contains(t, b.String(), "before its end, s | 0.0 | 0.0 | 1.0 | 1.0 | 1.0 |", "")
}
