//go:build e2e

package scenario

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/soak"
)

// A minute of what `make soak` does for half an hour.
func TestShortSoak(t *testing.T) {
	r, err := soak.Run(t.Context(), soak.Options{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Nodes: 12, Customers: 3, For: 25 * time.Second, OrderEvery: 4 * time.Second,
		Period: 10 * time.Second, CheckEvery: 3 * time.Second, Out: io.Discard, Log: quiet(t),
	})
	require.NoError(t, err)
	require.Empty(t, r.Wrong())
	require.Positive(t, r.Finished)
}
