package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// astray is an agent whose clock is wrong by a difference that the test changes, and whose machine's date is an hour
// ahead of that. The chain's clock is right.
type astray struct {
	*agentModel
	off time.Duration
	err error // of the chain's time
}

func newAstray(t *testing.T) *astray {
	c := newClock()
	a := &astray{agentModel: &agentModel{t: t, clock: c, chain: newFakeChain(c), dir: memDir(t)}}
	a.rt = newFakeRuntime(c)
	a.open()
	t.Cleanup(func() { require.NoError(t, a.store.Close()) })
	a.m.o.Now = func() time.Time { return c.now().Add(a.off) }
	a.m.o.Confirm = func(context.Context) (time.Time, error) { return c.now(), a.err }
	return a
}

// rents has the agent take a lease of so long and start its job.
func (a *astray) rents(t *testing.T, duration time.Duration) {
	t.Helper()
	a.chain.award(testJob(), false, duration, true)
	_, err := a.m.Deploy(context.Background(), testCustomer, messages.DeployRequest{Version: messages.Version, Lease: testLease, Job: testJob()})
	require.NoError(t, err)
	a.acts(t)
	require.Equal(t, 1, a.rt.starts)
	require.True(t, a.rt.active())
}

// acts lets the agent act until it waits, through errors of the chain.
func (a *astray) acts(t *testing.T) (d Decision, err error) {
	t.Helper()
	for range 30 {
		if a.w == nil {
			added, err := a.m.addWorkers()
			require.NoError(t, err)
			a.w = added[0]
		}
		var f Facts
		if d, f, err = a.w.observe(context.Background()); err != nil || d.Action == Wait {
			return d, err
		}
		require.NoError(t, a.w.act(context.Background(), d, f))
	}
	return d, err
}

func (a *astray) end() time.Time { return time.Unix(a.chain.lease.FundedUntil, 0) }

// A clock that is wrong neither keeps a lease from its start nor ends its job early, and the job's own limit fits.
func TestAWrongClockEndsNoPaidJob(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour, 40 * 24 * time.Hour} {
		a := newAstray(t)
		a.off = off
		a.rents(t, 30*time.Minute)
		for _, j := range a.rt.jobs {
			require.InDelta(t, (30*time.Minute + wallSlack).Seconds(), j.spec.Limits.Wall.Seconds(), 2, off)
		}
		for a.clock.now().Before(a.end()) {
			_, err := a.acts(t)
			require.NoError(t, err)
			require.True(t, a.rt.active(), "%s: stopped %s before the paid-for end", off, a.end().Sub(a.clock.now()))
			a.clock.add(time.Minute)
		}
		require.Zero(t, a.chain.ends)
		a.off = 0
		a.clock.add(10 * time.Second)
		_, err := a.acts(t)
		require.NoError(t, err)
		require.False(t, a.rt.active())
		require.Equal(t, 1, a.chain.ends)
	}
}

// The clock jumps while the job runs.
func TestAClockThatJumpsEndsNoPaidJob(t *testing.T) {
	a := newAstray(t)
	a.rents(t, time.Hour)
	a.off = 2 * time.Hour
	a.chain.looks = 0
	for range 50 {
		d, err := a.acts(t)
		require.NoError(t, err)
		require.Equal(t, Wait, d.Action)
		a.clock.add(jobPoll)
	}
	require.LessOrEqual(t, a.chain.looks, 11, "the chain is asked once a second at most")
	require.Positive(t, a.chain.looks)

	// What the customer adds meanwhile counts, and the runtime's limit follows.
	a.chain.update(func() { a.chain.lease.FundedUntil += 7200 })
	_, err := a.acts(t)
	require.NoError(t, err)
	for _, j := range a.rt.jobs {
		require.WithinDuration(t, a.end().Add(wallSlack), j.started.Add(j.spec.Limits.Wall), 2*time.Second)
	}
	a.clock.add(2 * time.Hour)
	_, err = a.acts(t)
	require.NoError(t, err)
	require.True(t, a.rt.active())
}

// A chain that cannot be asked ends nothing; the runtime's limit does.
func TestNothingEndsWithoutTheChain(t *testing.T) {
	a := newAstray(t)
	a.rents(t, time.Hour)
	a.clock.add(2 * time.Hour)
	a.err = errNetwork
	_, err := a.acts(t)
	require.ErrorIs(t, err, errUnconfirmed)
	require.ErrorIs(t, err, errNetwork)
	require.True(t, a.rt.active())
	a.err, a.chain.lookErr = nil, errors.New("no answer")
	_, err = a.acts(t)
	require.ErrorIs(t, err, errUnconfirmed)
	require.True(t, a.rt.active())
	a.chain.lookErr = nil
	_, err = a.acts(t)
	require.NoError(t, err)
	require.False(t, a.rt.active())

	// What the chain itself has ended is stopped without any clock.
	a = newAstray(t)
	a.rents(t, time.Hour)
	a.err = errNetwork
	a.chain.update(func() { a.chain.end(market.EndedByCustomer, a.clock.now().Unix()) })
	_, err = a.acts(t)
	require.NoError(t, err)
	require.False(t, a.rt.active())
}

// Without the chain's time the runtime's limit is all of the lease's time: it is not to end what is paid for.
func TestTheLimitWithoutTheChain(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour, 0} {
		a := newAstray(t)
		a.off = off
		f := Facts{Now: a.m.o.Now()}
		f.Account.StartedAt, f.Account.FundedUntil = a.clock.now().Unix(), a.clock.now().Add(30*time.Minute).Unix()
		w := newWorker(a.m, testLease)
		require.InDelta(t, 1800, w.left(context.Background(), f).Seconds(), 1)
		a.err = errNetwork
		require.Equal(t, 30*time.Minute, w.left(context.Background(), f))
		a.m.o.Confirm = nil
		require.GreaterOrEqual(t, w.left(context.Background(), f), time.Duration(0))
		require.LessOrEqual(t, w.left(context.Background(), f), 30*time.Minute)
	}
}

// The runtime notes dates of the machine; what is kept and claimed are times of the chain.
func TestAJobsEndIsATimeOfTheChain(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		a := newAstray(t)
		real := a.rt.clock
		a.rents(t, time.Hour)
		a.m.o.Machine = func() time.Time { return real.now().Add(off) }
		a.clock.add(10 * time.Minute)
		a.rt.finish(0, false)
		for _, j := range a.rt.jobs {
			j.exit.FinishedAt = j.exit.FinishedAt.Add(off)
		}
		want := a.clock.now()
		a.clock.add(2 * time.Second)
		_, err := a.acts(t)
		require.NoError(t, err)
		r, err := a.store.Lease(store.Key(testLease))
		require.NoError(t, err)
		require.WithinDuration(t, want, r.Exit.At, time.Second)
	}
}
