package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func find(t *testing.T, rows []Row, name, against string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Name == name && r.Against == against {
			return r
		}
	}
	t.Fatalf("no row %q against %q", name, against)
	return Row{}
}

// Honest machines are never found out, what must be found always is at once, and what nothing can find is not.
func TestOutcomes(t *testing.T) {
	scenarios, err := Scenarios(time.Now())
	require.NoError(t, err)
	o := Options{Seed: rand.Uint64(), Machines: 4, Challenges: 2, Every: time.Hour}
	t.Logf("seed %d", o.Seed)
	rows, err := Run(t.Context(), o, scenarios)
	require.NoError(t, err)
	require.Len(t, rows, len(scenarios))
	for _, r := range rows {
		switch r.Expect {
		case "0 %", "0.0 %":
			require.Zero(t, r.Found, r.Name)
		case "100 %":
			require.Equal(t, r.Machines, r.First, "%s against %s", r.Name, r.Against)
		default:
			require.False(t, r.Honest, "%s: an honest machine must not be found out", r.Name)
		}
	}
	require.Contains(t, find(t, rows, "replayed bundle", "bundle, tier 3").Reasons, "the policy: unproven")
	require.Contains(t, find(t, rows, "replayed GPU report in a new bundle", "bundle, tier 3").Reasons, "the policy: FALSE")
	var b strings.Builder
	require.NoError(t, Table(&b, o, rows))
	require.Equal(t, len(rows)+2, strings.Count(b.String(), "\n"))
}

// The seed determines every outcome.
func TestRepeatable(t *testing.T) {
	o := Options{Seed: 42, Machines: 6, Challenges: 3, Every: time.Hour}
	scenarios := []Scenario{{Name: "found in one of three", Play: func(_ context.Context, rng *rand.Rand) (string, error) {
		if rng.IntN(3) == 0 {
			return "luck", nil
		}
		return "", nil
	}}}
	first, err := Run(t.Context(), o, scenarios)
	require.NoError(t, err)
	second, err := Run(t.Context(), o, scenarios)
	require.NoError(t, err)
	require.Positive(t, first[0].Found)
	for i := range first {
		require.Equal(t, first[i].Reasons, second[i].Reasons)
		require.Equal(t, first[i].Found, second[i].Found)
		require.Equal(t, first[i].Median, second[i].Median)
	}
}

func TestErrorsStopARun(t *testing.T) {
	bad := errors.New("broken")
	_, err := Run(t.Context(), Options{Machines: 1, Challenges: 1}, []Scenario{{Name: "x", Play: func(context.Context, *rand.Rand) (string, error) { return "", bad }}})
	require.ErrorIs(t, err, bad)
	require.Equal(t, 2.5, median([]int{1, 4, 2, 3}))
	require.Zero(t, median(nil))
}
