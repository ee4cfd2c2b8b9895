package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// A node starts an awarded lease when the job has arrived, or after half of the start deadline.
func TestAwardedLeasesAreStarted(t *testing.T) {
	awarded := time.Unix(10_000, 0)
	base := func() Facts {
		f := Facts{Now: awarded.Add(time.Second), Exists: true, Entry: store.Lease{State: store.Awarded}}
		f.Account.Status = uint8(market.LeaseAwarded)
		f.Order = Order{Complete: true, AwardedAt: awarded, StartDeadline: 20 * time.Second, Duration: time.Hour}
		return f
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Action
	}{
		"no job yet":                   {func(*Facts) {}, Wait},
		"the job has arrived":          {func(f *Facts) { f.Entry.Job = &store.Job{} }, MarkStarting},
		"half of the deadline, no job": {func(f *Facts) { f.Now = awarded.Add(10 * time.Second) }, MarkStarting},
		"a refused job":                {func(f *Facts) { f.Entry.Refused = "no sandbox" }, SubmitDecline},
		"a refused job, too late":      {func(f *Facts) { f.Entry.Refused, f.Now = "no sandbox", awarded.Add(21*time.Second) }, Wait},
		"a refused job, nodes missing": {func(f *Facts) { f.Entry.Refused, f.Order.Complete = "no sandbox", false }, Wait},
		"held for longer than ordered": {func(f *Facts) {
			f.Entry.Job, f.Order.Duration, f.Now = &store.Job{}, 3*time.Second, awarded.Add(4*time.Second)
		}, SubmitDecline},
		"not yet longer than ordered": {func(f *Facts) {
			f.Entry.Job, f.Order.Duration, f.Now = &store.Job{}, 3*time.Second, awarded.Add(3*time.Second)
		}, MarkStarting},
		"the price fell": {func(f *Facts) {
			f.Entry.Job, f.Account.Lease.Repriced, f.Account.Price, f.Ask = &store.Job{}, 1, 99, 100
		}, SubmitDecline},
		"the price fell to the ask": {func(f *Facts) {
			f.Entry.Job, f.Account.Lease.Repriced, f.Account.Price, f.Ask = &store.Job{}, 1, 100, 100
		}, MarkStarting},
		"stored that it starts":        {func(f *Facts) { f.Entry.State = store.Starting }, SubmitStart},
		"it is measured":               {func(f *Facts) { f.Entry.State, f.Measured = store.Starting, true }, Wait},
		"its job is fetched meanwhile": {func(f *Facts) { f.Entry.Job, f.Measured = &store.Job{}, true }, MarkStarting},
		"it is measured for too long": {func(f *Facts) {
			f.Entry.State, f.Measured, f.Now = store.Starting, true, awarded.Add(10*time.Second)
		}, SubmitStart},
		"the others cannot start yet": {func(f *Facts) { f.Entry.State, f.Meeting.Waits = store.Starting, "node-1" }, Wait},
		"it waits for them for half of the deadline": {func(f *Facts) {
			f.Entry.State, f.Meeting.Waits, f.Now = store.Starting, "node-1", awarded.Add(10*time.Second)
		}, SubmitStart},
		"it waits for them no longer than was ordered": {func(f *Facts) {
			f.Entry.State, f.Meeting.Waits, f.Order.Duration, f.Now = store.Starting, "node-1", 3*time.Second, awarded.Add(3*time.Second)
		}, SubmitStart},
		"it has not been apart for long": {func(f *Facts) {
			f.Entry.State, f.Meeting = store.Starting, Meeting{Waits: "node-1", Apart: 4 * time.Second}
		}, Wait},
		"it is apart from them": {func(f *Facts) {
			f.Entry.State, f.Meeting = store.Starting, Meeting{Waits: "node-1", Apart: 5 * time.Second}
		}, SubmitDecline},
		"it has said that it declines":    {func(f *Facts) { f.Entry.State, f.Entry.Refused = store.Starting, "apart" }, SubmitDecline},
		"the order misses nodes":          {func(f *Facts) { f.Order.Complete, f.Entry.Job = false, &store.Job{} }, Wait},
		"the deadline is missed":          {func(f *Facts) { f.Now = awarded.Add(21 * time.Second) }, Wait},
		"the deadline, although starting": {func(f *Facts) { f.Entry.State, f.Now = store.Starting, awarded.Add(21*time.Second) }, Wait},
		"the store is ahead of the chain": {func(f *Facts) { f.Entry.State = store.Running }, Wait},
	} {
		f := base()
		c.change(&f)
		require.Equal(t, c.want, Decide(f).Action, name)
	}
	waiting := Decide(base())
	require.Equal(t, awarded.Add(10*time.Second), waiting.Until, "it decides again at half of the deadline")
}

// A job that its machine has lost is no job that ended: its customer does not pay for the machine any longer.
func TestALostJobEndsTheLease(t *testing.T) {
	now := time.Unix(10_000, 0)
	decide := func(reason string, completes uint8) Action {
		f := Facts{Now: now, Exists: true}
		f.Account.Lease.Status, f.Account.StartedAt, f.Account.FundedUntil, f.Account.RunToCompletion = uint8(market.LeaseRunning), 9_000, 20_000, completes
		f.Entry.State, f.Entry.Exit, f.Job = store.Exited, &store.Exit{Reason: reason}, JobOver
		return Decide(f).Action
	}
	require.Equal(t, EndLost, decide(string(runtime.Lost), 0))
	require.Equal(t, EndFinished, decide(string(runtime.Lost), 1))
	for _, reason := range []runtime.Reason{runtime.ReasonExited, runtime.ReasonMemory, runtime.ReasonStartFailed, runtime.ReasonStopped} {
		require.Equal(t, Wait, decide(string(reason), 0), "%s: it ended by the customer's doing", reason)
		require.Equal(t, EndFinished, decide(string(reason), 1), "%s", reason)
	}
}

func TestOutputsAreDecided(t *testing.T) {
	now := time.Unix(10_000, 0)
	base := func() Facts {
		f := Facts{Now: now, Exists: true}
		f.Account.StartedAt, f.Account.Output = 9_000, uint8(market.OutputWanted)
		f.Entry.Exit = &store.Exit{Reason: string(runtime.ReasonExited)}
		f.Order.Outputs = Outputs{Wanted: 3, CommitBy: now.Add(time.Minute), RevealBy: now.Add(2 * time.Minute)}
		return f
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Action
		ok     bool
	}{
		"not a redundant job":   {func(f *Facts) { f.Account.Output = 0 }, Wait, false},
		"the job runs":          {func(f *Facts) { f.Entry.Exit = nil }, Wait, false},
		"it was stopped":        {func(f *Facts) { f.Entry.Exit.Reason = string(runtime.ReasonStopped) }, Wait, false},
		"written down first":    {func(*Facts) {}, HashOutput, true},
		"then committed":        {func(f *Facts) { f.Entry.Output = &store.Output{} }, CommitOutput, true},
		"too late to commit":    {func(f *Facts) { f.Now = f.Order.Outputs.CommitBy.Add(time.Second) }, Wait, false},
		"others are waited for": {func(f *Facts) { f.Entry.Output, f.Account.Output = &store.Output{}, uint8(market.OutputCommitted) }, Wait, true},
		"all have committed": {func(f *Facts) {
			f.Entry.Output, f.Account.Output, f.Order.Outputs.Committed = &store.Output{}, uint8(market.OutputCommitted), 3
		}, RevealOutput, true},
		"some never will": {func(f *Facts) {
			f.Entry.Output, f.Account.Output, f.Now = &store.Output{}, uint8(market.OutputCommitted), now.Add(62*time.Second)
		}, RevealOutput, true},
		"too late to show": {func(f *Facts) {
			f.Entry.Output, f.Account.Output, f.Now = &store.Output{}, uint8(market.OutputCommitted), now.Add(time.Hour)
		}, Wait, false},
		"committed by nobody here": {func(f *Facts) { f.Account.Output = uint8(market.OutputCommitted) }, Wait, false},
		"shown":                    {func(f *Facts) { f.Entry.Output, f.Account.Output = &store.Output{}, uint8(market.OutputRevealed) }, Wait, false},
	} {
		f := base()
		c.change(&f)
		d, ok := decideOutput(f)
		require.Equal(t, c.ok, ok, name)
		require.Equal(t, c.want, d.Action, name)
	}
}

// What ends something because its time is over is decided once more by the chain's own word.
func TestOverIsConfirmed(t *testing.T) {
	funded := time.Unix(20_000, 0)
	running := func(job JobPhase) Facts {
		f := Facts{Now: funded.Add(time.Hour), Exists: true, Job: job, Entry: store.Lease{State: store.Running}}
		f.Account.Lease.Status, f.Account.StartedAt, f.Account.FundedUntil = uint8(market.LeaseRunning), 9_000, funded.Unix()
		return f
	}
	awarded := Facts{Now: funded, Exists: true, Entry: store.Lease{State: store.Awarded}}
	awarded.Account.Status = uint8(market.LeaseAwarded)
	awarded.Order = Order{Complete: true, AwardedAt: time.Unix(10_000, 0), StartDeadline: 20 * time.Second}
	for name, f := range map[string]Facts{"stop": running(JobActive), "end": running(JobOver), "missed": awarded} {
		require.True(t, Decide(f).Late, name)
	}
	ended := running(JobActive)
	ended.Account.Lease.Status = uint8(market.LeaseEnded)
	require.False(t, Decide(ended).Late, "the chain itself says so")
}

// A lease that the view does not show is gone when its account says so. Until then nothing of it is ended.
func TestALeaseIsGoneWhenItsAccountSaysSo(t *testing.T) {
	now := time.Unix(10_000, 0)
	closed := []store.Step{{State: store.Closed, At: now.Add(-time.Hour)}}
	for name, c := range map[string]struct {
		facts        Facts
		until, after Action // it is proven
	}{
		"a job runs":       {Facts{Job: JobActive, Entry: store.Lease{State: store.Running}}, ProveGone, StopJob},
		"a job that ended": {Facts{Job: JobOver, Entry: store.Lease{State: store.Exited}}, ProveGone, MarkEnded},
		"no job yet":       {Facts{Entry: store.Lease{State: store.Awarded}}, ProveGone, MarkEnded},
		"ended":            {Facts{Job: JobOver, Entry: store.Lease{State: store.Ended}}, ProveGone, MarkClosed},
		"closed":           {Facts{Job: JobOver, Entry: store.Lease{State: store.Closed, History: closed}}, ProveGone, Remove},
		"closed, kept":     {Facts{Job: JobOver, Keep: 2 * time.Hour, Entry: store.Lease{State: store.Closed, History: closed}}, Wait, Wait},
		"closed, with a job that runs": {
			Facts{Job: JobActive, Keep: 2 * time.Hour, Entry: store.Lease{State: store.Closed, History: closed}}, ProveGone, StopJob,
		},
		"a later lease is there":            {Facts{Later: true, Job: JobOver, Entry: store.Lease{State: store.Exited}}, MarkEnded, MarkEnded},
		"a later lease is there, job runs":  {Facts{Later: true, Job: JobActive, Entry: store.Lease{State: store.Running}}, ProveGone, StopJob},
		"a later lease is there, it closed": {Facts{Later: true, Entry: store.Lease{State: store.Closed, History: closed}}, Remove, Remove},
	} {
		c.facts.Now = now
		require.Equal(t, c.until, Decide(c.facts).Action, name)
		c.facts.Gone = true
		require.Equal(t, c.after, Decide(c.facts).Action, name)
	}
}

// A lease that is stored as over and goes on on chain is taken up again.
func TestALeaseThatGoesOnIsTakenUp(t *testing.T) {
	for _, on := range []market.LeaseStatus{market.LeaseAwarded, market.LeaseRunning} {
		for _, in := range []store.State{store.Ended, store.Closed} {
			f := Facts{Now: time.Unix(10_000, 0), Exists: true, Job: JobOver, Entry: store.Lease{State: in}}
			f.Account.Status, f.Account.FundedUntil = uint8(on), 20_000
			require.Equal(t, TakeUp, Decide(f).Action, "%s, stored as %s", on, in)
		}
	}
}

// A lease that was awarded unjustly, and now pays less than the node asks, is ended whatever its job does.
func TestARepricedLeaseEnds(t *testing.T) {
	for price, want := range map[uint64]Action{99: EndRepriced, 100: Wait} {
		f := Facts{Now: time.Unix(10_000, 0), Exists: true, Ask: 100, Job: JobActive, Entry: store.Lease{State: store.Running, FundedUntil: time.Unix(20_000, 0)}}
		f.Account.Lease.Status, f.Account.StartedAt, f.Account.FundedUntil = uint8(market.LeaseRunning), 9_000, 20_000
		f.Account.Lease.Repriced, f.Account.Price = 1, price
		require.Equal(t, want, Decide(f).Action, "price %d", price)
	}
}
