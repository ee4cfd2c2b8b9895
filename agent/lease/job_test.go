package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
)

// A machine that was away for a while claims no time for a job that ended with it.
func TestALostJobEndedWhenItWasLost(t *testing.T) {
	lost, now := time.Unix(1000, 0), time.Unix(1600, 0)
	require.Equal(t, lost, exitOf(runtime.Status{Phase: runtime.Lost, LostAt: lost}, now).At)
	require.Equal(t, now, exitOf(runtime.Status{Phase: runtime.Lost}, now).At)
}

// A lease starts, and is billed, when the node's own work has left the GPUs.
func TestALeaseWaitsForTheGPUs(t *testing.T) {
	asked, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m, chain := ordered(t, messages.JobSpec{Command: []string{"true"}}, func(m *Manager) {
		m.o.Idle = func(ctx context.Context) error {
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
