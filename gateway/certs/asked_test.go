package certs

import (
	"fmt"
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

// Names that have certificates are renewed all the time. Were they counted, a gateway with many of them would get none for a new name.
func TestARenewalTakesNoPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "asked.json")
	now := time.Unix(1_000_000, 0)
	for i := range 50 {
		a, err := openAsked(path, 2, 1) // each time another process
		require.NoError(t, err)
		old := Name{fmt.Sprintf("old%d.test", i), customers[0]}
		require.NoError(t, a.take(old, false, now))
		require.ErrorIs(t, a.take(old, false, now), ErrEarly, "renewals have their pauses")
	}
	a, err := openAsked(path, 2, 1)
	require.NoError(t, err)
	one, other := Name{"a.test", customers[0]}, Name{"b.test", customers[0]}
	require.NoError(t, a.take(one, true, now))
	require.ErrorIs(t, a.may(other, true, now), ErrFull, "the customer's place")
	require.NoError(t, a.take(Name{"c.test", customers[1]}, true, now))
	require.ErrorIs(t, a.may(Name{"d.test", customers[2]}, true, now), ErrFull, "the last place of all")
	require.NoError(t, a.may(Name{"c.test", customers[0]}, true, now.Add(week+time.Second)), "after a week there is room again")
}
