package lease

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// active is an agent with a job that runs, whose log is returned.
func active(t *testing.T) (*agentModel, *bytes.Buffer) {
	a := running(t)
	a.chain.hidden = false
	var said bytes.Buffer
	a.w.log = zerolog.New(&said)
	return a, &said
}

// does has the agent observe and act once, and returns the error of either.
func (a *agentModel) does() (Decision, error) {
	d, f, err := a.w.observe(context.Background())
	if err != nil || d.Action == Wait {
		return d, err
	}
	return d, a.w.act(context.Background(), d, f)
}

func (a *agentModel) entry() store.Lease {
	l, err := a.store.Lease(store.Key(testLease))
	require.NoError(a.t, err)
	return l
}

func (a *agentModel) runs() bool {
	job, err := a.w.job(context.Background())
	require.NoError(a.t, err)
	return phase(job) == JobActive
}

// A list that lacks the lease of a job that runs harms neither, and the log says what happened.
func TestAListWithoutTheLeaseHarmsNoJob(t *testing.T) {
	a, said := active(t)
	for range 3 {
		a.chain.update(func() { a.chain.lacks = true })
		d, err := a.does()
		require.NoError(t, err)
		require.Equal(t, ProveGone, d.Action)
		d, err = a.does()
		require.NoError(t, err)
		require.Equal(t, Wait, d.Action)
		require.True(t, a.runs())
		require.Equal(t, store.Running, a.entry().State)
	}
	require.Equal(t, 3, strings.Count(said.String(), "answered incompletely"), "once for each time")
	for _, part := range []string{"http://rpc.test", "its job continue unharmed", "the customer pays as before", "another --url"} {
		require.Contains(t, said.String(), part)
	}
}

// As long as the account cannot be read, or is not finally gone, the job goes on.
func TestALeaseThatMayBeGoneIsServed(t *testing.T) {
	a, said := active(t)
	a.chain.update(func() { a.chain.exists, a.chain.goneErr = false, errNetwork })
	for range 5 {
		d, err := a.does()
		require.Equal(t, ProveGone, d.Action)
		require.ErrorIs(t, err, errNetwork)
		require.True(t, a.runs())
	}
	a.chain.update(func() { a.chain.goneErr, a.chain.notFinal = nil, 3 })
	for range 3 {
		_, err := a.does()
		require.ErrorIs(t, err, errNotFinal)
		require.True(t, a.runs())
		require.Equal(t, store.Running, a.entry().State)
	}
	require.Empty(t, said.String(), "what closes as it should is not told as a failure")
	for _, want := range []Action{ProveGone, StopJob, MarkEnded, MarkClosed} {
		d, err := a.does()
		require.NoError(t, err)
		require.Equal(t, want, d.Action)
	}
	require.False(t, a.runs())
	a.clock.add(time.Minute)
	d, err := a.does()
	require.NoError(t, err)
	require.Equal(t, Remove, d.Action)
}

// closedByMistake stores the lease as closed while the chain shows it, as an agent did that believed an empty list.
func (a *agentModel) closedByMistake(stop bool) {
	if stop {
		_, err := a.rt.Stop(context.Background(), a.w.id, 0)
		require.NoError(a.t, err)
	}
	exit := &store.Exit{Reason: string(runtime.ReasonStopped)}
	if !stop {
		exit = nil
	}
	_, err := a.store.Advance(store.Key(testLease), store.Ended, func(l *store.Lease) error { l.Exit = exit; return nil })
	require.NoError(a.t, err)
	_, err = a.store.Advance(store.Key(testLease), store.Closed, nil)
	require.NoError(a.t, err)
}

// A lease that was closed by mistake is taken up again. Its job was stopped, and is lost: the machine ends the lease,
// and the customer pays nothing from then on.
func TestALeaseClosedByMistakeIsTakenUp(t *testing.T) {
	a, said := active(t)
	a.chain.lease.RunToCompletion = 0
	a.closedByMistake(true)
	a.chain.update(func() { a.chain.goneErr = errNetwork })
	d, err := a.does()
	require.Equal(t, TakeUp, d.Action)
	require.ErrorIs(t, err, errNetwork)
	require.Equal(t, store.Closed, a.entry().State, "only what is final counts")
	a.chain.update(func() { a.chain.goneErr = nil })
	d, err = a.does()
	require.NoError(t, err)
	require.Equal(t, TakeUp, d.Action)
	require.Equal(t, store.Exited, a.entry().State)
	require.Contains(t, said.String(), "the customer pays nothing from then on")
	d, err = a.does()
	require.NoError(t, err)
	require.Equal(t, EndLost, d.Action)
	require.Equal(t, market.LeaseEnded, a.chain.lease.State())
	require.Equal(t, 1, a.rt.starts, "the job is not run a second time")
}

// A job that still runs when its lease is taken up again goes on.
func TestALeaseClosedByMistakeWhoseJobRuns(t *testing.T) {
	a, _ := active(t)
	a.closedByMistake(false)
	d, err := a.does()
	require.NoError(t, err)
	require.Equal(t, TakeUp, d.Action)
	require.Equal(t, store.Running, a.entry().State)
	d, err = a.does()
	require.NoError(t, err)
	require.Equal(t, Wait, d.Action)
	require.True(t, a.runs())
	require.Nil(t, a.entry().Exit)
}
