package lease

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/internal/testkit/badjobs"
)

// A machine refuses what customers' programs refuse before the order, with the same words, and never starts the lease.
func TestJobsThatNoMachineRunsAreRefused(t *testing.T) {
	for _, c := range badjobs.Jobs() {
		t.Run(c.Name, func(t *testing.T) {
			m, chain, rt, _ := newTestManager(t)
			rt.prepare = func(context.Context, image.Credential) error { return nil }
			chain.award(c.Spec(), false, time.Hour, true)
			_, err := m.Deploy(t.Context(), testCustomer, withKey(c.Spec()))
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Why, c.Says)
			r, err := m.o.Store.Lease(store.Key(testLease))
			require.NoError(t, err)
			require.Contains(t, r.Refused, c.Says)
			require.Nil(t, r.Job)
		})
	}
	m, chain, rt, _ := newTestManager(t)
	rt.prepare = func(context.Context, image.Credential) error { return nil }
	chain.award(badjobs.Good(), false, time.Hour, true)
	_, err := m.Deploy(t.Context(), testCustomer, deployRequest(badjobs.Good()))
	require.NoError(t, err)
}
