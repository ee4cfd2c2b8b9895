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

func TestAgainTriesUntilItIsEnoughOrTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, tries := time.Now(), 0
		require.NoError(t, Again(t.Context(), time.Minute, time.Second, func() bool { tries++; return tries < 3 }))
		require.Equal(t, 3, tries)
		require.Equal(t, 2*time.Second, time.Since(begin), "no pause after the last try")

		begin, tries = time.Now(), 0
		require.NoError(t, Again(t.Context(), 10*time.Second, time.Second, func() bool { tries++; return true }))
		require.Equal(t, 12, tries, "one more when the time is over")
		require.Equal(t, 11*time.Second, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		tries = 0
		require.ErrorIs(t, Again(ctx, time.Hour, time.Second, func() bool { tries++; return true }), context.DeadlineExceeded)
		require.Equal(t, 2, tries)
	})
}
