package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/internal/testkit/badjobs"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// declinesOf runs a manager until it has declined its lease.
func declinesOf(t *testing.T, m *Manager, chain *fakeChain) []market.DeclineReason {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	var all []market.DeclineReason
	require.Eventually(t, func() bool {
		chain.mu.Lock()
		defer chain.mu.Unlock()
		all = append(all[:0], chain.declines...)
		return len(all) > 0
	}, time.Minute, 5*time.Millisecond)
	cancel()
	<-done
	chain.mu.Lock()
	defer chain.mu.Unlock()
	require.Zero(t, chain.starts)
	return all
}

// A job that the machine refuses is declined at once, and why is stored before anything is sent.
func TestARefusedJobIsDeclined(t *testing.T) {
	for name, fault := range map[string]fault{"sent": none, "lost at first": lost, "not known to have landed": unsure} {
		t.Run(name, func(t *testing.T) {
			m, chain, _, _ := newTestManager(t)
			bad := badjobs.Jobs()[0].Spec()
			chain.award(bad, false, time.Hour, true)
			_, err := m.Deploy(t.Context(), testCustomer, withKey(bad))
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			r, err := m.o.Store.Lease(store.Key(testLease))
			require.NoError(t, err)
			require.Equal(t, uint8(market.DeclinedJob), r.Decline)
			require.Empty(t, chain.declines, "nothing was sent yet")
			chain.next = fault
			require.Equal(t, []market.DeclineReason{market.DeclinedJob}, declinesOf(t, m, chain))
		})
	}
}

// An image that is not there a little before the start deadline is not waited for any longer.
func TestAnImageThatDoesNotArriveIsDeclined(t *testing.T) {
	m, chain, rt, clock := newTestManager(t)
	rt.prepare = func(context.Context, image.Credential) error {
		clock.add(5 * time.Second)
		return errors.Join(runtime.ErrPull, errors.New("the registry does not answer"))
	}
	chain.award(badjobs.Good(), false, time.Hour, true)
	_, err := m.Deploy(t.Context(), testCustomer, deployRequest(badjobs.Good()))
	require.NoError(t, err)
	require.Equal(t, []market.DeclineReason{market.DeclinedImage}, declinesOf(t, m, chain))
	r, err := m.o.Store.Lease(store.Key(testLease))
	if err == nil {
		require.Contains(t, r.Refused, "the registry does not answer")
	}
	st, err := m.Status(t.Context(), testCustomer, testLease)
	if err == nil {
		require.NotEqual(t, messages.LeaseRunning, st.State)
	}
}
