//go:build e2e

package scenario

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/soak"
)

// A minute of what `make soak` does for half an hour. What depends on how busy the computer is, such as late cranks, is
// shown and not judged.
func TestShortSoak(t *testing.T) {
	r, err := soak.Run(t.Context(), soak.Options{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Nodes: 12, Customers: 3, For: 15 * time.Second, OrderEvery: 4 * time.Second,
		Period: 5 * time.Second, CheckEvery: 2 * time.Second, Out: io.Discard, Log: quiet(t),
	})
	require.NoError(t, err)
	t.Log(r.Wrong())
	require.Positive(t, r.Finished)
	require.Empty(t, r.Failures)
	require.Positive(t, r.Checks)
	require.Empty(t, r.Violations)
	require.Empty(t, r.Faults)
	require.Positive(t, r.Reports)
	for _, k := range r.PerKeeper {
		require.Zero(t, k.Restarts, k.Name)
	}
}
