package schedule

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEvery(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ticks := 0
	err := Every(ctx, time.Millisecond, func() {
		if ticks++; ticks == 3 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, ticks, 3)
}

// OnChange ticks at once, after a change, and soon again while something waits, whatever the idle pause.
func TestOnChange(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	change := make(chan struct{})
	close(change)
	ticks := 0
	err := OnChange(ctx, System{}, Pace{Soon: time.Millisecond, Idle: time.Hour, Debounce: time.Millisecond},
		func() <-chan struct{} { return change },
		func() bool {
			switch ticks++; ticks {
			case 2: // after the change; no other comes
				change = make(chan struct{})
				return true
			case 3:
				cancel()
			}
			return false
		})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, ticks)
}
