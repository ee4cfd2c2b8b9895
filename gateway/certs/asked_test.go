package certs

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A name that is not issued is asked for again, less and less often, by every process together; it counts once.
func TestRequestsThatFailAreSpaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "asked.json")
	now := time.Unix(1_000_000, 0)
	one, other := Name{"a.test", customers[0]}, Name{"b.test", customers[1]}
	var times []time.Duration
	for begun := now; now.Sub(begun) < 5*24*time.Hour; now = now.Add(time.Minute) {
		a, err := openAsked(path, 1, 1)
		require.NoError(t, err)
		if a.may(one, true, now) == nil {
			require.NoError(t, a.take(one, true, now))
			times = append(times, now.Sub(begun))
		}
		require.ErrorIs(t, a.take(one, true, now), ErrEarly)
		require.ErrorIs(t, a.take(other, true, now), ErrFull)
	}
	require.Equal(t, []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute}, times[:4])
	require.Less(t, len(times), 22)
}

func TestARenewalTakesNoPlace(t *testing.T) {
	a, err := openAsked(filepath.Join(t.TempDir(), "asked.json"), 1, 1)
	require.NoError(t, err)
	now := time.Unix(1_000_000, 0)
	one, other := Name{"a.test", customers[0]}, Name{"b.test", customers[0]}
	require.NoError(t, a.take(one, true, now))
	require.ErrorIs(t, a.may(other, true, now), ErrFull)
	require.NoError(t, a.take(other, false, now))
	require.NoError(t, a.may(Name{"c.test", customers[0]}, true, now.Add(week+time.Second)), "after a week there is room again")
}
