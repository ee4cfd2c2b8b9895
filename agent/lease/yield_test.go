package lease

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Nothing of a lease is prepared, billed or started while its owner's job has the GPUs, and the lease starts as soon as it has left them.
func TestNothingOfALeaseBeginsBeforeTheOwnersJobIsGone(t *testing.T) {
	gone := make(chan struct{})
	masks := make(chan uint64, 100)
	m, chain := ordered(t, messages.JobSpec{Command: []string{"true"}}, func(m *Manager) {
		m.o.Yield = func(ctx context.Context, mask uint64) error {
			masks <- mask
			select {
			case <-gone:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	require.EqualValues(t, 1, <-masks)
	time.Sleep(100 * time.Millisecond)
	l, _ := chain.Lease(testLease)
	require.Equal(t, market.LeaseAwarded, l.State())
	e, err := m.o.Store.Lease([32]byte(testLease))
	require.NoError(t, err)
	require.EqualValues(t, "awarded", e.State)
	close(gone)
	require.Eventually(t, func() bool { all := m.Statuses(); return len(all) == 1 && all[0].State == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
	require.GreaterOrEqual(t, len(masks), 2, "before the start on chain, and before the job")
}

// A job that does not end must not cost the machine its record: the lease is declined before the start deadline.
func TestALeaseIsDeclinedWhereTheOwnersJobDoesNotEnd(t *testing.T) {
	began := time.Now()
	_, chain := ordered(t, messages.JobSpec{Command: []string{"true"}}, func(m *Manager) {
		m.o.Yield = func(ctx context.Context, _ uint64) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
	require.Eventually(t, func() bool {
		chain.mu.Lock()
		defer chain.mu.Unlock()
		return len(chain.declines) == 1 && chain.declines[0] == market.DeclinedJob
	}, time.Minute, 20*time.Millisecond)
	require.Less(t, time.Since(began), chain.deadline)
}
