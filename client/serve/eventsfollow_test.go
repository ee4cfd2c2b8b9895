package serve

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each event is taken once, also by a server that runs later; those before the first call are left out.
func TestEachEventIsTakenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	e := openEvents(t, path)
	require.NoError(t, e.note(seenLease(1, 1)))
	each := func(want ...int64) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		got, done := make(chan int64, 99), make(chan error, 1)
		go func() { done <- e.Each(ctx, "x", func(ev Event) { got <- ev.At }) }()
		for _, at := range want {
			if at == 3 {
				require.NoError(t, e.note(seenLease(3, 3)))
			}
			require.Equal(t, at, <-got)
		}
		time.Sleep(50 * time.Millisecond)
		require.Empty(t, got)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
	each()
	require.NoError(t, e.note(seenLease(1, 2)))
	require.NoError(t, e.Close())
	e = openEvents(t, path)
	each(2, 3)
	each()
}
