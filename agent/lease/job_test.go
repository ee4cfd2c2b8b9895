package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// A machine that was away for a while claims no time for a job that ended with it.
func TestALostJobEndedWhenItWasLost(t *testing.T) {
	lost, now := time.Unix(1000, 0), time.Unix(1600, 0)
	require.Equal(t, lost, exitOf(runtime.Status{Phase: runtime.Lost, LostAt: lost}, now).At)
	require.Equal(t, now, exitOf(runtime.Status{Phase: runtime.Lost}, now).At)
}

// A lease starts, and is billed, when its customer has measured the GPUs; the job is there by then.
func TestALeaseWaitsForItsCustomersMeasurement(t *testing.T) {
	var measured atomic.Bool
	measured.Store(true)
	m, chain := ordered(t, messages.JobSpec{Command: []string{"true"}}, func(m *Manager) {
		m.o.Measured = func(solana.PublicKey) bool { return measured.Load() }
	})
	require.Eventually(t, func() bool {
		e, err := m.o.Store.Lease(store.Key(testLease))
		return err == nil && e.State == store.Starting
	}, time.Minute, 5*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	l, _ := chain.Lease(testLease)
	require.Equal(t, market.LeaseAwarded, l.State())
	measured.Store(false)
	m.Wake(testLease)
	require.Eventually(t, func() bool { all := m.Statuses(); return len(all) == 1 && all[0].State == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
}

// A lease starts, and is billed, when the node's own work has left the GPUs.
func TestALeaseWaitsForTheGPUs(t *testing.T) {
	asked, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m, chain := ordered(t, messages.JobSpec{Command: []string{"true"}}, func(m *Manager) {
		m.o.Unmeasured = func(ctx context.Context, _ solana.PublicKey) error {
			once.Do(func() { close(asked) })
			select {
			case <-free:
				return nil
			case <-time.After(time.Millisecond): // and is asked again
				return errors.New("a measurement has the GPUs")
			}
		}
	})
	<-asked
	time.Sleep(100 * time.Millisecond)
	l, _ := chain.Lease(testLease)
	require.Equal(t, market.LeaseAwarded, l.State())
	close(free)
	require.Eventually(t, func() bool { all := m.Statuses(); return len(all) == 1 && all[0].State == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
}
