package lease

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

func deployRequest(job messages.JobSpec) messages.DeployRequest {
	return messages.DeployRequest{Version: messages.Version, Lease: testLease, Job: job}
}

func TestDeployIsRefused(t *testing.T) {
	image := messages.JobSpec{Version: messages.Version, Image: "pytorch@sha256:" + strings.Repeat("0", 64), Command: []string{"true"}}
	reserved := messages.JobSpec{Version: messages.Version, Command: []string{"true"}, Env: map[string]string{"LD_PRELOAD": "x"}}
	for name, c := range map[string]struct {
		ordered, sent messages.JobSpec
		from          solana.PublicKey
		status        market.LeaseStatus
		want          string
		never         bool // the lease never starts
	}{
		"another customer": {testJob(), testJob(), solana.PublicKey{9}, market.LeaseAwarded, "another customer", false},
		"another, later":   {testJob(), testJob(), solana.PublicKey{9}, market.LeaseRunning, "another customer", false},
		"another job":      {testJob(), image, testCustomer, market.LeaseAwarded, "not the job that was ordered", false},
		"an image":         {image, image, testCustomer, market.LeaseAwarded, "runs no images", true},
		"reserved name":    {reserved, reserved, testCustomer, market.LeaseAwarded, "LD_PRELOAD", true},
		"over":             {testJob(), testJob(), testCustomer, market.LeaseEnded, "over", false},
	} {
		t.Run(name, func(t *testing.T) {
			m, chain, _, _ := newTestManager(t)
			chain.award(c.ordered, false, time.Hour, true)
			chain.lease.Status = uint8(c.status)
			_, err := m.Deploy(t.Context(), c.from, deployRequest(c.sent))
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Why, c.want)
			require.Equal(t, name == "another customer", refused.Unknown, "its session key may be seen later than the lease")
			r, err := m.o.Store.Lease(store.Key(testLease))
			if c.never {
				require.NoError(t, err)
				require.NotEmpty(t, r.Refused)
			}
			if err == nil {
				require.Nil(t, r.Job)
				require.Equal(t, c.never, r.Refused != "", "only what was ordered and cannot run keeps the lease from starting")
			}
		})
	}
}

// The job arrives, runs, ends, and the manager ends the lease; a customer sees it all.
func TestManagerRuns(t *testing.T) {
	m, chain, rt, _ := newTestManager(t)
	m.o.Now = time.Now
	chain.clock, rt.clock = &clock{t: time.Now()}, &clock{t: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	<-m.Ready()
	require.False(t, m.Live())
	chain.award(testJob(), true, time.Hour, true)
	require.Eventually(t, m.Live, time.Minute, time.Millisecond)
	st, err := m.Deploy(t.Context(), testCustomer, deployRequest(testJob()))
	require.NoError(t, err)
	require.Contains(t, []messages.LeaseState{messages.LeaseWaiting, messages.LeaseRunning}, st.State)
	state := func() messages.LeaseState {
		st, err := m.Status(t.Context(), testCustomer, testLease)
		require.NoError(t, err)
		return st.State
	}
	require.Eventually(t, func() bool { return state() == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
	require.Eventually(t, func() bool { return m.Statuses()[0].State == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
	again, err := m.Deploy(t.Context(), testCustomer, deployRequest(testJob()))
	require.NoError(t, err)
	require.Equal(t, messages.LeaseRunning, again.State, "sending the job again changes nothing")

	var got []byte
	require.NoError(t, m.Logs(t.Context(), testCustomer, messages.LogsRequest{Version: messages.Version, Lease: testLease, Follow: true}, func(c messages.LogChunk) error {
		got = append(got, c.Data...)
		return nil
	}))
	require.Equal(t, "output\n", string(got))
	var refused *RefusedError
	require.ErrorAs(t, m.Logs(t.Context(), testKey, messages.LogsRequest{Lease: testLease}, nil), &refused)
	for _, offset := range []uint64{maxOffset + 1, 9_519_702_700_450_718, 1 << 63} { // the second is none that ext4 takes
		require.ErrorAs(t, m.Logs(t.Context(), testCustomer, messages.LogsRequest{Lease: testLease, Offset: offset}, nil), &refused)
	}
	_, err = m.Status(t.Context(), testKey, testLease)
	require.ErrorAs(t, err, &refused)

	rt.finish(5, false)
	require.Eventually(t, func() bool { l, _ := chain.Lease(testLease); return l.State() == market.LeaseEnded }, time.Minute, 5*time.Millisecond)
	st, err = m.Status(t.Context(), testCustomer, testLease)
	require.NoError(t, err)
	require.Equal(t, messages.LeaseExited, st.State)
	require.EqualValues(t, 5, st.ExitCode)
	require.Eventually(t, func() bool { return !m.Live() }, time.Minute, 5*time.Millisecond)
	require.Equal(t, 1, rt.starts)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// A lease whose address is used again begins anew once the first is cleared away.
func TestSecondLifeOfAnAddress(t *testing.T) {
	m, chain, _, c := newTestManager(t)
	chain.award(testJob(), false, time.Hour, true)
	_, err := m.addWorkers()
	require.NoError(t, err)
	_, err = m.o.Store.Update(store.Key(testLease), func(l *store.Lease) error { l.Job = &store.Job{Command: []string{"old"}}; return nil })
	require.NoError(t, err)
	c.add(time.Minute)
	chain.award(testJob(), false, time.Hour, true)
	_, err = m.Deploy(t.Context(), testCustomer, deployRequest(testJob()))
	var refused *RefusedError
	require.ErrorAs(t, err, &refused, "the job of the new life must not fall to the old record")

	w := m.workers[testLease]
	for range 10 {
		d, f, err := w.observe(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, MarkStarting, d.Action)
		require.NoError(t, w.act(t.Context(), d, f))
		if d.Action == Remove {
			break
		}
	}
	m.dropWorker(w)
	fresh, err := m.addWorkers()
	require.NoError(t, err)
	require.Len(t, fresh, 1)
	r, err := m.o.Store.Lease(store.Key(testLease))
	require.NoError(t, err)
	require.Nil(t, r.Job)
	require.Equal(t, chain.lease.AwardedAt, r.AwardedAt.Unix())
}

func TestStatusOfALeaseStoppedAtTheEndOfItsTime(t *testing.T) {
	m, chain, rt, _ := newTestManager(t)
	chain.award(testJob(), false, time.Hour, true)
	_, err := m.addWorkers()
	require.NoError(t, err)
	r, err := m.o.Store.Advance(store.Key(testLease), store.Starting, nil)
	require.NoError(t, err)
	r.Job = &store.Job{Command: []string{"true"}}
	_, err = rt.Start(t.Context(), m.spec(r))
	require.NoError(t, err)
	job, err := rt.Stop(t.Context(), testLease.String(), 0)
	require.NoError(t, err)
	require.Equal(t, messages.LeaseExited, statusOf(r, job).State, "while the lease is live, a keeper must not take it for an outage")
	r.State = store.Ended
	require.Equal(t, messages.LeaseStopped, statusOf(r, job).State)
}

func TestNewNeedsEveryDependency(t *testing.T) {
	complete := func() Options {
		return Options{Chain: newFakeChain(newClock()), Store: &store.Store{}, Runtime: newFakeRuntime(newClock()), NodeKey: testKey, Domain: testDomain}
	}
	_, err := New(complete())
	require.NoError(t, err)
	for name, remove := range map[string]func(*Options){
		"chain":    func(o *Options) { o.Chain = nil },
		"store":    func(o *Options) { o.Store = nil },
		"runtime":  func(o *Options) { o.Runtime = nil },
		"node key": func(o *Options) { o.NodeKey = solana.PublicKey{} },
		"domain":   func(o *Options) { o.Domain = records.Domain{} },
	} {
		o := complete()
		remove(&o)
		_, err := New(o)
		require.ErrorContains(t, err, "required", name)
	}
}

// An image may take almost as long to fetch as the lease may take to start, not as long as any other action; and fetching ends
// with the lease.
func TestFetchingAnImageIsBoundByTheStartDeadlineAlone(t *testing.T) {
	m, chain, rt, _ := newTestManager(t)
	job := messages.JobSpec{Version: messages.Version, Image: "registry.example/pytorch@sha256:" + strings.Repeat("0", 64)}
	chain.deadline = 10 * time.Minute
	chain.award(job, false, time.Hour, true)
	began, ended := make(chan time.Time, 1), make(chan error, 1)
	rt.prepare = func(ctx context.Context, _ image.Credential) error {
		until, _ := ctx.Deadline()
		select {
		case began <- until:
		default:
		}
		<-ctx.Done()
		select {
		case ended <- ctx.Err():
		default:
		}
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	_, err := m.Deploy(t.Context(), testCustomer, deployRequest(job))
	require.NoError(t, err)
	order, err := chain.Order(t.Context(), chain.lease)
	require.NoError(t, err)
	require.WithinDuration(t, order.AwardedAt.Add(order.StartDeadline-mostMargin), <-began, time.Second)
	chain.update(func() { chain.lease.Status = uint8(market.LeaseEnded) })
	require.ErrorIs(t, <-ended, context.Canceled)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// What opens a private image reaches the runtime, is replaced by what comes later, and is nowhere but in memory.
func TestCredentialsOfRegistriesAreNotKept(t *testing.T) {
	m, chain, rt, _ := newTestManager(t)
	job := messages.JobSpec{Version: messages.Version, Image: "registry.example/private@sha256:" + strings.Repeat("0", 64)}
	chain.deadline = 10 * time.Minute
	chain.award(job, false, time.Hour, true)
	got := make(chan image.Credential, 10)
	rt.prepare = func(_ context.Context, c image.Credential) error {
		got <- c
		if c.Token != "fresh" {
			return errors.New("expired")
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	send := func(token string) {
		req := deployRequest(job)
		req.Registry = &messages.RegistryCredential{Token: token}
		_, err := m.Deploy(t.Context(), testCustomer, req)
		require.NoError(t, err)
	}
	send("stale")
	require.Equal(t, image.Credential{Token: "stale"}, <-got)
	send("fresh")
	require.Eventually(t, func() bool { return (<-got).Token == "fresh" }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return m.credential(testLease) == image.Credential{} }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	r, err := m.o.Store.Lease(store.Key(testLease))
	require.NoError(t, err)
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "stale")
	require.NotContains(t, string(raw), "fresh")
}
