package wait

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestForWaitsAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, For(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

func TestForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, For(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestForDoesNotWaitForNothingButStillLooksAtItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, For(t.Context(), 0))
		require.NoError(t, For(t.Context(), -time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			require.ErrorIs(t, For(ctx, d), context.Canceled)
		}
		require.Zero(t, time.Since(begin))
	})
}
