package lease

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	jobPoll    = 200 * time.Millisecond // of a running job's state
	idlePoll   = 30 * time.Second       // in case a change was missed
	minBackoff = 200 * time.Millisecond // after a failed action
	maxBackoff = 5 * time.Second
	actTimeout = 30 * time.Second // of one action
	settleTime = 3 * time.Second  // of the last attempt to settle before a lease is ended
	maxStarts  = 3                // attempts to start a job whose specification is sound
)

// worker carries out one lease.
type worker struct {
	m        *Manager
	address  solana.PublicKey
	id       string
	log      zerolog.Logger
	wakeUp   chan struct{}
	observed chan struct{}
	once     sync.Once
	failed   int    // attempts to start the job
	lastErr  string // logged once
	sight    sight
	said     said
	absence  absence
	unsent   [32]byte // a snapshot that is not to be put on chain (again)
	noted    bool     // how the image started is recorded

	mu   sync.Mutex
	last messages.LeaseStatus
	live bool
}

func newWorker(m *Manager, address solana.PublicKey) *worker {
	return &worker{
		m: m, address: address, id: address.String(), log: m.log.With().Str("lease", address.String()).Logger(),
		wakeUp: make(chan struct{}, 1), observed: make(chan struct{}),
	}
}

func (w *worker) wake() {
	select {
	case w.wakeUp <- struct{}{}:
	default:
	}
}

func (w *worker) status() (messages.LeaseStatus, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.live
}

// run observes, decides and acts until nothing of the lease is left or ctx ends.
func (w *worker) run(ctx context.Context) {
	defer w.once.Do(func() { close(w.observed) })
	backoff := minBackoff
	for ctx.Err() == nil {
		changed := w.m.o.Chain.Changed()
		d, facts, err := w.observe(ctx)
		if err == nil && d.Action != Wait {
			w.log.Debug().Stringer("action", d.Action).Str("why", d.Why).Str("state", string(facts.Entry.State)).Msg("lease worker acts")
			w.sight.until = time.Time{} // an action takes as long as it takes
			err = w.act(ctx, d, facts)
			if err == nil {
				if d.Action == Remove {
					return
				}
				backoff, w.lastErr = minBackoff, ""
				continue
			}
		}
		w.once.Do(func() { close(w.observed) })
		wait := w.waitTime(d, facts)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			w.logFailure(d, err)
			wait, backoff = backoff, min(2*backoff, maxBackoff)
			changed = nil // whatever changed meanwhile is observed after the delay
			if errors.Is(err, errBlind) {
				wait = jobPoll
			}
			if errors.Is(err, errNotFinal) {
				wait, backoff = askFinal, minBackoff
			}
		}
		w.sight.rests(w.m.o.Machine(), wait)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-w.wakeUp:
		case <-t.C:
		}
		t.Stop()
	}
}

// logFailure logs an error once for as long as it stays the same.
func (w *worker) logFailure(d Decision, err error) {
	if errors.Is(err, errNotFinal) {
		w.log.Debug().Stringer("action", d.Action).Msg(err.Error())
		return
	}
	if msg := err.Error(); msg != w.lastErr {
		w.lastErr = msg
		w.log.Warn().Err(err).Stringer("action", d.Action).Msg("lease action failed; the worker tries again")
	}
}

func (w *worker) waitTime(d Decision, f Facts) time.Duration {
	wait := idlePoll
	if !d.Until.IsZero() {
		wait = min(wait, max(d.Until.Sub(f.Now), time.Millisecond))
	}
	switch {
	case f.Job == JobActive:
		wait = min(wait, jobPoll)
	case f.Exists && f.Account.State() == market.LeaseAwarded && !f.Order.Complete:
		wait = min(wait, 500*time.Millisecond) // the order's account is read, not watched
	}
	return wait
}

// observe gathers the facts and decides.
func (w *worker) observe(ctx context.Context) (Decision, Facts, error) {
	f := Facts{Now: w.m.o.Now(), Keep: w.m.o.Keep}
	var err error
	if f.Entry, err = w.m.o.Store.Lease(store.Key(w.address)); err != nil {
		return Decision{}, f, err
	}
	if err := w.look(ctx); err != nil {
		return Decision{}, f, err
	}
	account, exists := w.m.o.Chain.Lease(w.address)
	switch {
	case exists && account.AwardedAt > f.Entry.AwardedAt.Unix():
		f.Keep, f.Later = 0, true // a new lease at the same address waits until this one is removed
	case exists && account.AwardedAt == f.Entry.AwardedAt.Unix():
		f.Exists, f.Account = true, account
		f.Ask = w.m.o.Chain.Ask(account.Interruptible != 0)
		w.absence = absence{}
	}
	f.Gone = w.absence.proven
	if w.m.o.Wanted != nil {
		f.Wanted = w.m.o.Wanted()
	}
	job, err := w.job(ctx)
	if err != nil {
		return Decision{}, f, err
	}
	f.Job, f.Snapshot = phase(job), w.snapshotOf(job)
	if g := f.Entry.Group; w.m.o.Meeting != nil && f.Entry.State == store.Starting && g != nil && len(g.Others()) > 0 {
		f.Meeting = w.m.o.Meeting(w.address)
	}
	f.Measured = w.m.o.Measured != nil && w.m.o.Measured(w.address)
	f.Keyless = f.Entry.Job != nil && f.Entry.Job.Volume != nil && job.Phase != runtime.Preparing && !w.m.hasVolumeKey(w.address)
	if f.Exists && (account.State() == market.LeaseAwarded || wantsOutput(account)) {
		if f.Order, err = w.m.o.Chain.Order(ctx, account); err != nil {
			return Decision{}, f, err
		}
	}
	w.publish(f.Entry, job)
	w.noteStart(f.Entry, job)
	return w.decide(ctx, f)
}

func (w *worker) job(ctx context.Context) (runtime.Status, error) { return w.m.jobOf(ctx, w.id) }

// jobOf is the runtime's view of a lease's job; a job that the runtime does not know has the zero phase.
func (m *Manager) jobOf(ctx context.Context, id string) (runtime.Status, error) {
	st, err := m.o.Runtime.Status(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return runtime.Status{LeaseID: id}, nil
	}
	return st, err
}

func phase(st runtime.Status) JobPhase {
	switch {
	case st.Phase.Over():
		return JobOver
	case st.Phase == runtime.Starting || st.Phase == runtime.Running:
		return JobActive
	}
	return JobNone
}

func (w *worker) publish(r store.Lease, job runtime.Status) {
	s := w.m.statusOf(r, job)
	w.mu.Lock()
	w.last, w.live = s, r.State.Live()
	w.mu.Unlock()
}

// act performs one action. Each of them may be repeated.
func (w *worker) act(ctx context.Context, d Decision, f Facts) error {
	if d.Action == MarkStarting || d.Action == SubmitStart || d.Action == StartJob {
		if err := w.yield(ctx, f); err != nil {
			return err
		}
	}
	if d.Action == MarkStarting { // an image takes longer than an action may
		if err := w.prepare(ctx, f); err != nil {
			return err
		}
		return w.markStarting(f)
	}
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	switch d.Action {
	case SubmitStart:
		if w.m.o.Unmeasured != nil {
			if err := w.m.o.Unmeasured(ctx, w.address); err != nil {
				return err
			}
		}
		w.log.Info().Bool("job", f.Entry.Job != nil).Msg("node starts the lease on chain")
		if err := w.m.o.Chain.Start(ctx, f.Account, f.Entry.ConnectionHash); err != nil {
			return err
		}
		return w.awaitView(ctx, func(l market.Lease, ok bool) bool { return !ok || l.State() != market.LeaseAwarded })
	case SubmitDecline:
		return w.decline(ctx, d, f)
	case StartJob:
		return w.startJob(ctx, f)
	case MarkRunning:
		return w.markRunning(f)
	case ExtendJob:
		return w.extendJob(ctx, f)
	case MarkExited:
		return w.markExited(ctx, f, d)
	case StopJob:
		w.log.Info().Str("why", d.Why).Msg("node stops the job")
		_, err := w.m.o.Runtime.Stop(ctx, w.id, w.m.o.StopGrace)
		return err
	case GiveNotice:
		w.log.Info().Str("why", d.Why).Stringer("notice", market.Seconds(f.Account.NoticeSecs)).Msg("the node gives notice of the lease")
		if err := w.m.o.Chain.End(ctx, f.Account, false); err != nil {
			return err
		}
		return w.awaitView(ctx, func(l market.Lease, ok bool) bool { return !ok || l.NoticeAt != 0 || l.State() != market.LeaseRunning })
	case EndFinished, EndRepriced, EndNoticed, EndDue, EndLost:
		return w.end(ctx, d, f)
	case MarkEnded:
		return w.markEnded(ctx, f, d)
	case MarkClosed:
		return w.advance(store.Closed, d.Why, nil)
	case Remove:
		return w.remove(ctx)
	case HashOutput:
		return w.hashOutput(ctx)
	case CommitOutput:
		return w.commitOutput(ctx, f)
	case RevealOutput:
		return w.revealOutput(ctx, f)
	case SubmitCheckpoint:
		return w.submitCheckpoint(ctx, f)
	case ProveGone:
		return w.proveGone(ctx, f)
	case TakeUp:
		return w.takeUp(ctx, f)
	}
	return fmt.Errorf("unknown lease action %s", d.Action)
}

// awaitView waits a little until the view shows what was confirmed, so that an action is not repeated for nothing.
func (w *worker) awaitView(ctx context.Context, shown func(market.Lease, bool) bool) error {
	t := time.NewTimer(2 * time.Second)
	defer t.Stop()
	for {
		changed := w.m.o.Chain.Changed()
		if shown(w.m.o.Chain.Lease(w.address)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-t.C:
			return nil
		}
	}
}

// ConnectionHash is what lease_start puts on chain: sha256("gantry-p2p-1" ‖ node key ‖ lease). The job of a lease is
// reached through the node's own peer-to-peer identity, so both sides can compute it.
func ConnectionHash(nodeKey, lease solana.PublicKey) [32]byte {
	return sha256.Sum256(append(append([]byte("gantry-p2p-1"), nodeKey[:]...), lease[:]...))
}

func (w *worker) markStarting(f Facts) error {
	return w.advance(store.Starting, "about to start", func(l *store.Lease) {
		l.ConnectionHash = store.Key(ConnectionHash(w.m.o.NodeKey, w.address))
		if f.Account.State() == market.LeaseRunning {
			l.ConnectionHash = f.Account.ConnectionHash
		}
	})
}

// advance moves the stored lease to a state and says why. Staying in the state is no error.
func (w *worker) advance(to store.State, why string, change func(*store.Lease)) error {
	before := store.State("")
	_, err := w.m.o.Store.Advance(store.Key(w.address), to, func(l *store.Lease) error {
		before, l.Note = l.State, why
		if change != nil {
			change(l)
		}
		return nil
	})
	if err == nil && before != to {
		w.log.Info().Str("state", string(to)).Str("why", why).Msg("lease changed state")
	}
	return err
}

func setTimes(l *store.Lease, c market.Lease) {
	at := func(unix int64) time.Time {
		if unix == 0 {
			return time.Time{}
		}
		return time.Unix(unix, 0).UTC()
	}
	l.StartedAt, l.FundedUntil, l.EndedAt = at(c.StartedAt), at(c.FundedUntil), at(c.EndedAt)
}

// end ends the lease on chain.
func (w *worker) end(ctx context.Context, d Decision, f Facts) error {
	if d.Action != EndDue && w.m.o.Settle != nil {
		sctx, cancel := context.WithTimeout(ctx, settleTime)
		err := w.m.o.Settle(sctx, w.address)
		cancel()
		if err != nil {
			w.log.Debug().Err(err).Msg("the last receipt before the end was not settled; reports and later receipts will do")
		}
	}
	w.log.Info().Str("why", d.Why).Msg("node ends the lease on chain")
	if err := w.m.o.Chain.End(ctx, f.Account, d.Action == EndLost); err != nil {
		return err
	}
	return w.awaitView(ctx, func(l market.Lease, ok bool) bool { return !ok || l.State() == market.LeaseEnded })
}

// remove deletes what is left of a closed lease.
func (w *worker) remove(ctx context.Context) error {
	if err := w.m.o.Runtime.Remove(ctx, w.id); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	if err := w.m.o.Store.RemoveLease(store.Key(w.address)); err != nil {
		return err
	}
	w.log.Debug().Msg("lease removed from the store")
	return nil
}
