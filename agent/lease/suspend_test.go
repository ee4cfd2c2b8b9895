package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// prepares has the agent prepare the lease's start, and returns how that ended.
func (a *agentModel) prepares() error {
	added, err := a.m.addWorkers()
	require.NoError(a.t, err)
	a.w = added[0]
	d, f, err := a.w.observe(context.Background())
	require.NoError(a.t, err)
	require.Equal(a.t, MarkStarting, d.Action)
	return a.w.act(context.Background(), d, f)
}

// What a job goes on from is restored before the lease starts, with what opens it. A bucket that fails is asked again; the
// customer reads why.
func TestStateIsRestoredBeforeTheLeaseStarts(t *testing.T) {
	a := volumeModel(t)
	req := withBackup()
	req.Backup.From = [32]byte{7}
	failing := true
	fills := 0
	a.rt.fill = func(_ context.Context, s runtime.Spec) error {
		fills++
		require.Zero(t, a.chain.starts)
		require.Equal(t, [32]byte{7}, s.Backup.From)
		require.Equal(t, runtime.VolumeKey(req.VolumeKey), s.VolumeKey)
		if failing {
			return errors.New("the bucket is away")
		}
		return nil
	}
	_, err := a.m.Deploy(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.ErrorContains(t, a.prepares(), "the bucket is away")
	st, err := a.m.Deploy(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.Equal(t, "the bucket is away", st.Detail)
	require.Zero(t, a.chain.starts)
	failing = false
	a.untilIdle()
	require.Equal(t, 1, a.chain.starts)
	require.Equal(t, 1, a.rt.starts)
	require.GreaterOrEqual(t, fills, 2)
}

// A state that cannot go on here is refused: the lease never starts, and nothing is billed.
func TestStateThatCannotGoOn(t *testing.T) {
	a := volumeModel(t)
	a.rt.fill = func(context.Context, runtime.Spec) error { return fmt.Errorf("%w: another runsc", runtime.ErrState) }
	req := withBackup()
	_, err := a.m.Deploy(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.ErrorContains(t, a.prepares(), "another runsc")
	_, err = a.m.Deploy(t.Context(), testCustomer, req)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused, "the customer that brings the key again reads it")
	require.Contains(t, refused.Why, "another runsc")
	a.clock.add(a.chain.deadline)
	a.untilIdle()
	require.Zero(t, a.chain.starts)
	require.Zero(t, a.rt.starts)
}

// An image that cannot run the job is refused when its configuration is there: nothing is tried again, and nothing starts.
func TestAnImageThatCannotRunTheJob(t *testing.T) {
	a := volumeModel(t)
	tries := 0
	a.rt.prepare = func(context.Context, image.Credential) error {
		tries++
		return fmt.Errorf("%w: the image names no command", runtime.ErrSpec)
	}
	req := withBackup()
	_, err := a.m.Deploy(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.ErrorContains(t, a.prepares(), "names no command")
	_, err = a.m.Deploy(t.Context(), testCustomer, req)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, "the job cannot be run: runtime: invalid specification: the image names no command")
	require.Equal(t, SubmitDecline, a.step().Action)
	require.Equal(t, []market.DeclineReason{market.DeclinedJob}, a.chain.declines)
	a.clock.add(a.chain.deadline)
	a.untilIdle()
	require.Equal(t, 1, tries)
	require.Zero(t, a.chain.starts)
}

// A bucket that is slow holds no machine for nothing: after half of the start deadline the lease starts.
func TestSlowStateDoesNotHoldTheMachine(t *testing.T) {
	a := volumeModel(t)
	a.rt.fill = func(ctx context.Context, _ runtime.Spec) error {
		<-ctx.Done()
		return fmt.Errorf("fill: %w", ctx.Err())
	}
	_, err := a.m.Deploy(t.Context(), testCustomer, withBackup())
	require.NoError(t, err)
	entry, err := a.store.Lease(store.Key(testLease))
	require.NoError(t, err)
	w := newWorker(a.m, testLease)
	f := Facts{Entry: entry, Order: Order{AwardedAt: time.Now().Add(-time.Minute), StartDeadline: 2*time.Minute + 20*time.Millisecond}}
	require.NoError(t, w.fill(context.Background(), f))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, w.fill(ctx, f), context.Canceled)
}

// An agent that was killed needs no key for a job that its supervisor holds. A lease that never starts takes it along.
func TestHeldJobsNeedNoKey(t *testing.T) {
	a := volumeModel(t)
	_, err := a.m.Deploy(t.Context(), testCustomer, withBackup())
	require.NoError(t, err)
	id := testLease.String()
	a.rt.fill = func(_ context.Context, s runtime.Spec) error {
		a.rt.held = map[string]bool{s.LeaseID: true}
		return nil
	}
	require.NoError(t, a.prepares())
	require.True(t, a.rt.held[id])
	a.crash()
	a.rt.fill = func(_ context.Context, s runtime.Spec) error {
		require.Nil(t, s.VolumeKey)
		return nil
	}
	a.untilIdle()
	require.Equal(t, 1, a.rt.starts)

	b := volumeModel(t)
	_, err = b.m.Deploy(t.Context(), testCustomer, withBackup())
	require.NoError(t, err)
	b.rt.held = map[string]bool{id: true}
	b.chain.mu.Lock()
	b.chain.exists = false
	b.chain.mu.Unlock()
	b.untilIdle()
	require.False(t, b.rt.held[id])
	require.Zero(t, b.rt.starts)
}

// Only the lease's customer suspends it. A job that ended so is over, its snapshot on chain.
func TestSuspensions(t *testing.T) {
	a := volumeModel(t)
	req := messages.SuspendRequest{Version: messages.Version, Lease: testLease, Attempt: [16]byte{1}}
	refused := func(from solana.PublicKey, want string) {
		t.Helper()
		_, err := a.m.Suspend(t.Context(), from, req)
		var r *RefusedError
		require.ErrorAs(t, err, &r)
		require.Contains(t, r.Why, want)
	}
	refused(testCustomer, "has not started yet")
	_, err := a.m.Deploy(t.Context(), testCustomer, withBackup())
	require.NoError(t, err)
	refused(testCustomer, "no such lease")
	a.untilIdle()
	refused(solana.PublicKey{99}, "of another customer")
	a.rt.starting = true
	refused(testCustomer, messages.ContainerStarts)
	a.rt.starting = false
	answer, err := a.m.Suspend(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.Equal(t, messages.SuspendAnswer{Version: messages.Version}, answer)
	hash := strings.Repeat("ab", 32)
	a.rt.suspension = runtime.Suspension{Error: "the bucket is away"}
	answer, err = a.m.Suspend(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.Equal(t, "the bucket is away", answer.Failed)
	a.rt.suspension = runtime.Suspension{Hash: hash}
	answer, err = a.m.Suspend(t.Context(), testCustomer, req)
	require.NoError(t, err)
	require.Equal(t, hash, fmt.Sprintf("%x", answer.Hash))
	job := a.rt.jobs[testLease.String()]
	job.exit = &runtime.Exit{Reason: runtime.ReasonSuspended}
	job.snapshot = &runtime.Snapshot{Hash: hash}
	a.untilIdle()
	require.Equal(t, hash, fmt.Sprintf("%x", a.chain.lease.CheckpointHash))
	st, err := a.m.Status(t.Context(), testCustomer, testLease)
	require.NoError(t, err)
	require.Equal(t, messages.LeaseExited, st.State)
	require.Equal(t, "the job is suspended", st.Detail)
	require.Equal(t, market.LeaseRunning, a.chain.lease.State(), "the customer ends it")
}
