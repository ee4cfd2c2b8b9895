package schedule

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSystem(t *testing.T) {
	r := Or(nil)
	var n atomic.Int32
	done := make(chan struct{})
	r.Go(func() { n.Add(1); close(done) })
	<-done
	r.All(func() { n.Add(1) }, func() { n.Add(1) })
	require.EqualValues(t, 3, n.Load(), "All waits for all")
	require.NoError(t, r.Sleep(t.Context(), time.Millisecond))
	ctx, cancel := r.Timeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Sleep(ctx, time.Hour), context.DeadlineExceeded)
}
