package lease

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// running is an agent with a job whose lease may move, and whose view shows nothing new of the chain from now on.
func running(t *testing.T) *agentModel {
	c := newClock()
	a := &agentModel{t: t, clock: c, chain: newFakeChain(c), dir: memDir(t)}
	a.rt = newFakeRuntime(c)
	a.open()
	t.Cleanup(func() { require.NoError(t, a.store.Close()) })
	a.chain.award(testJob(), true, time.Hour, true)
	a.chain.lease.MayMigrate = 1
	_, err := a.m.Deploy(context.Background(), testCustomer, messages.DeployRequest{Version: messages.Version, Lease: testLease, Job: testJob()})
	require.NoError(t, err)
	for range 20 {
		a.step()
	}
	require.Equal(t, Wait, a.step().Action)
	require.Equal(t, 1, a.rt.starts)
	require.Zero(t, a.chain.looks)
	a.chain.hide()
	return a
}

// moves has the lease move while the agent does not see it.
func (a *agentModel) moves() {
	a.chain.mu.Lock()
	defer a.chain.mu.Unlock()
	a.chain.lease.Lease.Status, a.chain.lease.Away = uint8(market.LeaseFailed), 1
	a.chain.lease.EndedAt = a.clock.now().Unix()
}

// waits has the worker wait for a moment that takes so long by the clock on the wall.
func (a *agentModel) waits(takes time.Duration) (Decision, error) {
	a.w.sight.rests(a.clock.now(), jobPoll)
	a.clock.add(takes)
	d, _, err := a.w.observe(context.Background())
	return d, err
}

func TestAnAgentThatStoodStillLooksFirst(t *testing.T) {
	a := running(t)
	a.moves()
	d, err := a.waits(jobPoll)
	require.NoError(t, err)
	require.Equal(t, Wait, d.Action)
	require.Zero(t, a.chain.looks, "a wait as long as intended is no reason")

	a.chain.lookErr = errNetwork
	_, err = a.waits(20 * time.Second)
	require.ErrorIs(t, err, errBlind)
	_, err = a.waits(jobPoll)
	require.ErrorIs(t, err, errBlind, "it does nothing about the lease until it knows")
	require.Equal(t, 1, a.chain.looks, "and does not ask without end")
	a.clock.add(lookEvery)
	a.chain.lookErr = nil
	d, err = a.waits(0)
	require.NoError(t, err)
	require.Equal(t, StopJob, d.Action)
	require.Equal(t, 2, a.chain.looks)
}

func TestAnAgentThatNobodyAsksLooks(t *testing.T) {
	a := running(t)
	asked := a.clock.now()
	a.m.o.Asked = func() time.Time { return asked }
	d, err := a.waits(jobPoll)
	require.NoError(t, err)
	require.Equal(t, Wait, d.Action)
	require.Zero(t, a.chain.looks)

	a.moves()
	a.chain.lookErr = errNetwork
	for range 40 {
		d, err = a.waits(jobPoll)
		require.NoError(t, err)
		require.Equal(t, Wait, d.Action, "the job goes on as long as nothing says otherwise")
	}
	require.Positive(t, a.chain.looks)
	require.LessOrEqual(t, a.chain.looks, 3)
	a.chain.lookErr = nil
	a.clock.add(lookEvery)
	d, err = a.waits(0)
	require.NoError(t, err)
	require.Equal(t, StopJob, d.Action)
}

// Only of leases that may move does it matter that no keeper asks.
func TestALeaseThatStaysIsNotLookedAt(t *testing.T) {
	a := running(t)
	a.chain.shown.MayMigrate = 0
	a.m.o.Asked = func() time.Time { return time.Time{} }
	_, err := a.waits(jobPoll)
	require.NoError(t, err)
	require.Zero(t, a.chain.looks)
}
