package lease

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// agentModel drives one worker by hand, so that a crash can fall between any two actions, and checks after every one
// what must always hold.
type agentModel struct {
	t interface {
		require.TestingT
		Fatal(...any)
	}
	clock *clock
	chain *fakeChain
	rt    *fakeRuntime
	dir   string
	store *store.Store
	m     *Manager
	w     *worker

	removed bool
}

func (a *agentModel) open() {
	var err error
	a.store, err = openStore(a.dir, a.clock)
	require.NoError(a.t, err)
	a.m, err = New(Options{
		Chain: a.chain, Store: a.store, Runtime: a.rt, NodeKey: testKey, Domain: testDomain, GPUUUIDs: []string{"SIM-1"}, Log: zerolog.Nop(),
		Now: a.clock.now, Keep: 5 * time.Second,
		Settle: func(context.Context, solana.PublicKey) error { return nil },
	})
	require.NoError(a.t, err)
	a.w = nil
}

// step lets the agent observe once and act once.
func (a *agentModel) step() Decision {
	if a.w == nil {
		added, err := a.m.addWorkers()
		require.NoError(a.t, err)
		if len(added) == 0 {
			return Decision{Action: Wait}
		}
		a.w = added[0]
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	d, f, err := a.w.observe(ctx)
	require.NoError(a.t, err)
	a.checkDecision(d, f)
	if d.Action == Wait {
		return d
	}
	err = a.w.act(ctx, d, f)
	switch d.Action {
	case SubmitStart, SubmitDecline, EndFinished, EndDue, EndLost, StartJob, ProveGone: // these may fail and are tried again
	default:
		require.NoError(a.t, err, d.Action)
	}
	if d.Action == Remove {
		require.NoError(a.t, err)
		a.m.dropWorker(a.w)
		a.w, a.removed = nil, true
	}
	return d
}

// checkDecision fails the test when a decision is not permitted.
func (a *agentModel) checkDecision(d Decision, f Facts) {
	switch d.Action {
	case SubmitStart:
		require.Equal(a.t, store.Starting, f.Entry.State, "the start is stored before it is sent")
		require.NotZero(a.t, f.Entry.ConnectionHash)
	case SubmitDecline:
		require.Equal(a.t, store.Awarded, f.Entry.State, "what is about to start is not declined")
		require.Zero(a.t, a.chain.starts)
	case MarkStarting:
		late := !f.Now.Before(f.Order.AwardedAt.Add(f.Order.StartDeadline / 2))
		require.True(a.t, f.Entry.Job != nil || late || f.Account.State() == market.LeaseRunning, "started without job before half of the deadline")
	case StartJob:
		require.Equal(a.t, market.LeaseRunning, f.Account.State(), "a job runs only within a lease that runs")
		require.Less(a.t, f.Now.Unix(), f.Account.FundedUntil+1)
	case EndFinished:
		require.Equal(a.t, store.Exited, f.Entry.State)
		require.EqualValues(a.t, 1, f.Account.RunToCompletion)
		require.NotEqual(a.t, JobActive, f.Job)
	case EndDue:
		require.True(a.t, f.Account.State() == market.LeaseFailed || f.Now.Unix() >= f.Account.FundedUntil)
	case Remove:
		require.Equal(a.t, store.Closed, f.Entry.State)
		require.NotEqual(a.t, JobActive, f.Job)
	}
}

// invariant holds after every action.
func (a *agentModel) invariant() {
	require.LessOrEqual(a.t, a.rt.starts, 1, "a job is started once")
	require.LessOrEqual(a.t, a.chain.starts, 1)
	if a.chain.starts == 1 {
		require.Equal(a.t, ConnectionHash(testKey, testLease), a.chain.hash)
	}
}

// untilIdle lets the agent act until it waits.
func (a *agentModel) untilIdle() {
	for range 100 {
		if a.step().Action != Wait {
			continue
		}
		if l, ok := a.chain.Lease(testLease); a.rt.active() {
			require.True(a.t, ok && l.State() == market.LeaseRunning, "a job runs for a lease that is over")
			for _, j := range a.rt.jobs {
				end := j.started.Add(j.spec.Limits.Wall)
				require.WithinDuration(a.t, time.Unix(l.FundedUntil, 0).Add(wallSlack), end, 2*time.Second, "the runtime's own limit follows the lease")
			}
		}
		return
	}
	a.t.Fatal("the agent does not come to rest")
}

func TestStateMachine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		a := &agentModel{t: rt, clock: c, chain: newFakeChain(c), dir: memDir(t)}
		a.rt = newFakeRuntime(c)
		a.open()
		defer func() { require.NoError(rt, a.store.Close()) }()
		completes := rapid.Bool().Draw(rt, "run to completion")
		duration := time.Duration(rapid.IntRange(5, 60).Draw(rt, "duration")) * time.Second
		a.chain.award(testJob(), completes, duration, rapid.Bool().Draw(rt, "order complete"))

		rt.Repeat(map[string]func(*rapid.T){
			"":     func(*rapid.T) { a.invariant() },
			"step": func(*rapid.T) { a.step() },
			"rest": func(*rapid.T) { a.untilIdle() },
			"time": func(r *rapid.T) { c.add(time.Duration(rapid.IntRange(1, 6000).Draw(r, "ms")) * time.Millisecond) },
			"crash": func(*rapid.T) {
				require.NoError(rt, a.store.Close())
				a.open()
			},
			"network": func(r *rapid.T) {
				a.chain.next = rapid.SampledFrom([]fault{lost, unsure}).Draw(r, "fault")
			},
			"machine": func(r *rapid.T) { a.rt.fail = rapid.IntRange(0, 4).Draw(r, "failing starts") },
			"deploy": func(r *rapid.T) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
				defer cancel()
				// It may be refused, when the lease is over; then it must change nothing.
				_, _ = a.m.Deploy(ctx, testCustomer, messages.DeployRequest{Version: messages.Version, Lease: testLease, Job: testJob()})
			},
			"extend": func(*rapid.T) {
				a.chain.update(func() {
					if l := &a.chain.lease; a.chain.exists && l.State() == market.LeaseRunning && c.now().Unix() < l.FundedUntil {
						l.FundedUntil += 10
					}
				})
			},
			"complete": func(*rapid.T) {
				a.chain.update(func() {
					if !a.chain.order.Complete {
						a.chain.order.Complete, a.chain.order.AwardedAt = true, c.now()
					}
				})
			},
			"exit": func(r *rapid.T) {
				a.rt.finish(rapid.IntRange(0, 3).Draw(r, "code"), rapid.IntRange(0, 9).Draw(r, "lost") == 0)
			},
			"wipe": func(*rapid.T) { // somebody deletes the directory of a job that is over
				if !a.rt.active() {
					clear(a.rt.jobs)
				}
			},
			"stop": func(*rapid.T) {
				a.chain.update(func() {
					if a.chain.exists && a.chain.lease.State() == market.LeaseRunning {
						a.chain.end(market.EndedByCustomer, c.now().Unix())
					}
				})
			},
			"fail": func(*rapid.T) {
				a.chain.update(func() {
					if a.chain.exists && a.chain.lease.State() == market.LeaseRunning {
						a.chain.lease.Status, a.chain.lease.EndedAt = uint8(market.LeaseFailed), c.now().Unix()
					}
				})
			},
			"abort": func(*rapid.T) {
				a.chain.update(func() {
					late := c.now().After(a.chain.order.AwardedAt.Add(a.chain.deadline))
					if a.chain.exists && a.chain.lease.State() == market.LeaseAwarded && late {
						a.chain.exists = false
					}
				})
			},
			"lack": func(*rapid.T) { a.chain.update(func() { a.chain.lacks = true }) },
			"fork": func(*rapid.T) { a.chain.update(func() { a.chain.notFinal = 2 }) },
			"close": func(*rapid.T) {
				a.chain.update(func() {
					if a.chain.exists && a.chain.lease.State() == market.LeaseEnded {
						a.chain.exists = false
					}
				})
			},
		})
		a.runToEnd(completes)
	})
}

// runToEnd lets time pass and expects the agent to bring everything to an end by itself, with keepers' ordinary help.
func (a *agentModel) runToEnd(completes bool) {
	a.chain.next, a.rt.fail = none, 0
	a.chain.update(func() { a.chain.order.Complete, a.chain.lacks, a.chain.notFinal = true, false, 0 })
	if completes {
		a.rt.finish(0, false)
	}
	for range 200 {
		a.untilIdle()
		a.invariant()
		if a.removed {
			return
		}
		a.clock.add(time.Second)
		a.chain.update(func() {
			l := &a.chain.lease
			switch {
			case !a.chain.exists:
			case l.State() == market.LeaseEnded:
				a.chain.exists = false // settled and closed by keepers
			case l.State() == market.LeaseAwarded && a.clock.now().After(a.chain.order.AwardedAt.Add(a.chain.deadline)):
				a.chain.exists = false // aborted by keepers
			}
		})
	}
	l, ok := a.chain.Lease(testLease)
	r, err := a.store.Lease(store.Key(testLease))
	a.t.Fatal(fmt.Sprintf("no end: on chain %t %s, record %s %v, job active %t", ok, l.State(), r.State, err, a.rt.active()))
}

// A crash after each single action of an undisturbed life changes nothing about its outcome.
func TestCrashAfterEveryAction(t *testing.T) {
	actions := runLease(t, false, -1)
	require.Equal(t, []Action{MarkStarting, SubmitStart, StartJob, MarkExited, EndFinished, MarkEnded, ProveGone, MarkClosed, Remove}, actions)
	for at := range actions {
		require.Subset(t, actions, runLease(t, false, at), "crash after action %d (%s)", at, actions[at])
	}
}

// The same for a redundant job: what a node has committed to is what it shows, and it shows it once the others cannot
// copy it any more.
func TestCrashAfterEveryActionOfARedundantJob(t *testing.T) {
	actions := runLease(t, true, -1)
	require.Equal(t, []Action{
		MarkStarting, SubmitStart, StartJob, MarkExited, HashOutput, CommitOutput, EndFinished, MarkEnded, RevealOutput, ProveGone, MarkClosed, Remove,
	}, actions)
	for at := range actions {
		require.Subset(t, actions, runLease(t, true, at), "crash after action %d (%s)", at, actions[at])
	}
}

// runLease plays a run-to-completion lease and crashes the agent after one action; it returns all actions.
func runLease(t *testing.T, redundant bool, crashAfter int) []Action {
	t.Helper()
	var actions []Action
	c := newClock()
	a := &agentModel{t: t, clock: c, chain: newFakeChain(c), dir: memDir(t)}
	a.rt = newFakeRuntime(c)
	a.open()
	defer func() { require.NoError(t, a.store.Close()) }()
	a.chain.award(testJob(), true, time.Hour, true)
	if redundant {
		a.chain.lease.Output = uint8(market.OutputWanted)
		a.chain.order.Outputs = Outputs{Wanted: 3, CommitBy: c.now().Add(2 * time.Hour), RevealBy: c.now().Add(3 * time.Hour)}
	}
	_, err := a.m.Deploy(context.Background(), testCustomer, messages.DeployRequest{Version: messages.Version, Lease: testLease, Job: testJob()})
	require.NoError(t, err)
	for i := 0; i < 200 && !a.removed; i++ {
		d := a.step()
		if d.Action != Wait {
			actions = append(actions, d.Action)
			if len(actions)-1 == crashAfter {
				require.NoError(t, a.store.Close())
				a.open()
			}
			continue
		}
		c.add(500 * time.Millisecond)
		if i > 5 {
			a.rt.finish(0, false)
		}
		a.chain.update(func() {
			over := a.chain.exists && a.chain.lease.State() == market.LeaseEnded
			if over && redundant && market.OutputState(a.chain.lease.Output) != market.OutputRevealed {
				a.chain.order.Outputs.Committed = 3 // the others have their turn
			} else if over {
				a.chain.exists = false
			}
		})
	}
	require.True(t, a.removed)
	require.Equal(t, 1, a.rt.starts)
	require.Equal(t, 1, a.chain.starts)
	require.Equal(t, 1, a.chain.ends)
	if redundant {
		require.Equal(t, 1, a.chain.commits)
		require.EqualValues(t, sha256.Sum256([]byte("output\n")), a.chain.lease.OutputHash)
	}
	return actions
}
