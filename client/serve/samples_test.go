package serve

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// The history has each minute of the last day and an hour of the days before, forgets what is older than a year, is thinned
// out evenly, and is there after a restart. It is of one cluster.
func TestSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "statistics.db")
	s, err := OpenSamples(path, [32]byte{1})
	require.NoError(t, err)
	got, err := s.last(24, 500)
	require.NoError(t, err)
	require.Empty(t, got)

	const start = 1_800_000_000
	require.NoError(t, s.note(Sample{At: start - 400*24*3600}))
	for minute := range int64(26 * 60) {
		require.NoError(t, s.note(Sample{At: start + minute*60, Total: service.NodeStatistics{GPUs: int(minute)}, Models: []service.ModelStatistics{{Model: "A100", Median: "1.50"}}}))
	}
	all, err := s.last(8784, 100_000)
	require.NoError(t, err)
	require.EqualValues(t, start, all[0].At, "what is older than a year is gone")
	perHour := map[int64]int{}
	for _, x := range all {
		perHour[(x.At-start)/3600]++
	}
	require.Equal(t, 1, perHour[0], "one an hour is kept of what is older than a day")
	require.Equal(t, 60, perHour[3])
	require.Equal(t, 60, perHour[25])

	require.NoError(t, s.Close())
	s, err = OpenSamples(path, [32]byte{1})
	require.NoError(t, err)
	few, err := s.last(24, 10)
	require.NoError(t, err)
	require.Len(t, few, 10)
	require.Equal(t, all[len(all)-1], few[9], "the newest is among them")
	require.EqualValues(t, few[9].At-24*3600, few[0].At)
	one, err := s.last(1, 1)
	require.NoError(t, err)
	require.Equal(t, few[9:], one)
	require.NoError(t, s.Close())

	_, err = OpenSamples(path, [32]byte{2})
	require.Error(t, err)
}
