//go:build e2e

package scenario

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/bench/soak"
)

// A minute of what `make soak` does for half an hour. What depends on how busy the computer is, such as late cranks, is
// shown and not judged.
func TestShortSoak(t *testing.T) {
	long.Test(t, "a minute of steady orders")
	t.Parallel()
	r, err := soak.Run(t.Context(), soak.Options{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Nodes: 12, Customers: 3, For: 15 * time.Second, OrderEvery: 4 * time.Second,
		Period: 5 * time.Second, CheckEvery: 2 * time.Second, Out: io.Discard, Log: warnings(t),
	})
	require.NoError(t, err)
	sound(t, r)
}

// Faults are injected into the node's answers: they are late, lost, old, broken or missing. Everything is paid,
// refunded and closed all the same, and no honest machine has a fault.
func TestSoakWithInjectedFaults(t *testing.T) {
	long.Test(t, "a minute of steady orders")
	t.Parallel()
	r, err := soak.Run(t.Context(), soak.Options{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Nodes: 8, Customers: 3, For: 30 * time.Second, OrderEvery: 4 * time.Second,
		Period: 5 * time.Second, CheckEvery: 2 * time.Second, InjectFaults: true, Out: io.Discard, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Logf("%+v", r.Injected)
	require.Positive(t, r.Injected.Requests)
	// An order that finds no answer before its deadlines is refunded and no failure of the market.
	r.Failures = nil
	sound(t, r)
}

// sound checks what holds however busy the computer is.
func sound(t *testing.T, r *soak.Result) {
	t.Helper()
	t.Log(r.Wrong())
	require.Positive(t, r.Finished)
	require.Empty(t, r.Failures)
	require.Positive(t, r.Checks)
	require.Empty(t, r.Violations)
	require.Empty(t, r.Faults)
	require.Empty(t, r.Left)
	require.Positive(t, r.Reports)
	for _, k := range r.PerKeeper {
		require.Zero(t, k.Restarts, k.Name)
	}
}
