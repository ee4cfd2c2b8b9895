package lease

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// wallSlack is how long after the paid-for time the runtime itself ends a job. It matters only when there is no agent
// to do so at the end of that time.
const wallSlack = time.Minute

// startJob hands the job to the runtime and stores in the same action that it runs: a job that is over and whose
// directory is deleted before the agent observes it again must not run a second time. A specification that cannot be
// run ends the job at once; trouble of the machine is given a few tries.
func (w *worker) startJob(ctx context.Context, f Facts) error {
	spec := w.m.spec(f.Entry)
	if err := w.m.addVolumeSecrets(&spec, f.Entry); err != nil {
		return err
	}
	spec.Limits.Wall = w.left(ctx, f) + wallSlack
	st, err := w.m.o.Runtime.Start(ctx, spec)
	switch {
	case err == nil, errors.Is(err, runtime.ErrExists):
		w.log.Info().Int("pid", st.PID).Strs("limits", st.Limits).Msg("job started")
		return w.markRunning(f)
	case errors.Is(err, runtime.ErrSpec), errors.Is(err, runtime.ErrImage), errors.Is(err, runtime.ErrNetwork), errors.Is(err, runtime.ErrVolume):
	case ctx.Err() != nil:
		return err
	default:
		if w.failed++; w.failed < maxStarts {
			return err
		}
	}
	now := w.m.o.Now().UTC()
	w.log.Warn().Err(err).Msg("the job cannot be started")
	return w.advance(store.Exited, "job could not be started: "+err.Error(), func(l *store.Lease) {
		setTimes(l, f.Account)
		l.Exit = &store.Exit{Code: 127, Reason: string(runtime.ReasonStartFailed), At: now}
	})
}

// prepare fetches the job's image and reserves the room of its volume before the lease starts, so that no fetching is billed. The customer sees why it fails;
// the worker tries again, and declines the lease when the image is not there a little before the start deadline. It ends with the
// lease.
func (w *worker) prepare(ctx context.Context, f Facts) error {
	if f.Entry.Job == nil || f.Entry.Job.Image == "" || f.Account.State() != market.LeaseAwarded {
		return nil
	}
	by, parent := imageBy(f.Order), ctx
	ctx, cancel := context.WithTimeout(ctx, by.Sub(f.Now)) // no date of this machine
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		w.whileAwarded(ctx)
	})
	err := w.m.o.Runtime.Prepare(ctx, w.m.spec(f.Entry), w.m.pull(w.address))
	if err == nil {
		err = w.fill(ctx, f)
	} else if errors.Is(err, runtime.ErrPull) { // what else is wrong has to do with no image
		w.m.pullFailed(w.address, err)
	}
	cancel()
	watch.Wait()
	if err == nil {
		w.m.setCredential(w.address, nil)
		return nil
	}
	if errors.Is(err, runtime.ErrState) || errors.Is(err, runtime.ErrSpec) {
		return w.m.refuseJob(f.Account, err)
	}
	if !w.m.o.Now().Before(by) && parent.Err() == nil {
		return errors.Join(err, w.m.noteRefused(f.Account, market.DeclinedImage, "the image did not arrive in time: "+err.Error()))
	}
	return errors.Join(err, w.advance(store.Awarded, err.Error(), nil))
}

// fill has what the job goes on from restored before the lease starts. What takes longer than half of the start deadline is
// done after that, and billed: a customer whose bucket is slow does not hold the machine for nothing.
func (w *worker) fill(ctx context.Context, f Facts) error {
	spec := w.m.spec(f.Entry)
	if err := w.m.addVolumeSecrets(&spec, f.Entry); err != nil {
		return err
	}
	half, cancel := context.WithTimeout(ctx, f.Order.AwardedAt.Add(f.Order.StartDeadline/2).Sub(w.m.o.Now()))
	defer cancel()
	err := w.m.o.Runtime.Fill(half, spec)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		w.log.Info().Msg("the saved state of the job is not restored yet; the lease starts in the meantime")
		return nil
	}
	return err
}

// whileAwarded returns when the lease is no longer one that is about to start, or ctx ends.
func (w *worker) whileAwarded(ctx context.Context) {
	for {
		changed := w.m.o.Chain.Changed()
		if l, ok := w.m.o.Chain.Lease(w.address); !ok || l.State() != market.LeaseAwarded {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// markRunning stores that the job was started. Its supervisor has what opens its volume.
func (w *worker) markRunning(f Facts) error {
	w.m.setVolumeSecrets(w.address, volumeSecrets{})
	return w.advance(store.Running, "the job runs", func(l *store.Lease) { setTimes(l, f.Account) })
}

// extendJob moves the runtime's own limit when the customer has paid for more time, then stores for how much.
func (w *worker) extendJob(ctx context.Context, f Facts) error {
	if err := w.m.o.Runtime.Extend(ctx, w.id, w.left(ctx, f)+wallSlack); err != nil && !errors.Is(err, runtime.ErrOver) {
		return err
	}
	w.log.Info().Time("funded_until", time.Unix(f.Account.FundedUntil, 0)).Msg("the lease was extended")
	_, err := w.m.o.Store.Update(store.Key(w.address), func(l *store.Lease) error {
		setTimes(l, f.Account)
		return nil
	})
	return err
}

// spec is the runtime's order for a job.
func (m *Manager) spec(r store.Lease) runtime.Spec {
	gpus := bits.OnesCount64(r.GPUMask)
	share := m.share(r)
	s := runtime.Spec{
		LeaseID: keyString(r.Address), Guest: r.Job.Guest, GPUMask: r.GPUMask, Checkpoint: r.Checkpoint,
		Command: r.Job.Command, Env: r.Job.Env, Image: r.Job.Image, Network: r.Job.Network,
		Limits: runtime.Limits{
			CPUs:      minLimit(float64(r.Job.CPUs), share.CPUs),
			MemoryMiB: uint64(minLimit(float64(r.Job.MemoryMiB), float64(share.MemoryMiB))),
			DiskMiB:   uint64(minLimit(float64(r.Job.DiskMiB), float64(m.diskBeside(r)))),
			ShmMiB:    r.Job.ShmMiB,
		},
		Volume: r.Job.Volume, Entrypoint: r.Job.Entrypoint, User: r.Job.User,
	}
	if s.Image != "" { // it is a part of the lease's share of the disk
		s.Limits.ShareMiB = m.diskBeside(r)
		s.Limits.ImageMiB = jobspec.ImageRoomMiB(messages.JobSpec{DiskMiB: r.Job.DiskMiB, Volume: r.Job.Volume}, share)
	}
	if r.Group != nil {
		s.Group = &runtime.Group{Index: int(r.Group.Index), Size: len(r.Group.Members)}
	}
	for i, uuid := range m.o.GPUUUIDs {
		if r.GPUMask>>i&1 == 1 {
			s.GPUUUIDs = append(s.GPUUUIDs, uuid)
		}
	}
	if len(s.GPUUUIDs) != gpus {
		s.GPUUUIDs = nil // the inventory has changed since the lease was awarded
	}
	return s
}

// fits says what of a job is more than its lease's share of the machine. Error: [*jobspec.Error].
func (m *Manager) fits(r store.Lease, job messages.JobSpec) error {
	return jobspec.CheckShare(job, m.share(r))
}

// share is a lease's part of what the machine has.
func (m *Manager) share(r store.Lease) jobspec.Share {
	return m.o.Node.Part(bits.OnesCount64(r.GPUMask), len(m.o.GPUUUIDs))
}

// minLimit is the smaller of two limits, of which 0 is none.
func minLimit(a, b float64) float64 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// markExited stores how the job ended.
func (w *worker) markExited(ctx context.Context, f Facts, d Decision) error {
	st, err := w.job(ctx)
	if err != nil {
		return err
	}
	exit := w.m.exitOf(st)
	why := d.Why
	if why == "" {
		why = describe(*exit)
	}
	if st.Phase == runtime.Lost { // what its supervisor would have cleared away
		if _, err := w.m.o.Runtime.Stop(ctx, w.id, 0); err != nil {
			w.log.Warn().Err(err).Msg("what a killed supervisor has left cannot be removed; the agent tries again when it removes the lease")
		}
	}
	return w.advance(store.Exited, why, func(l *store.Lease) {
		setTimes(l, f.Account)
		l.Exit = exit
	})
}

// markEnded stores that the lease is over, and how its job was when that happened.
func (w *worker) markEnded(ctx context.Context, f Facts, d Decision) error {
	st, err := w.job(ctx)
	if err != nil {
		return err
	}
	if st.Phase == runtime.Preparing { // it will not start any more
		if st, err = w.m.o.Runtime.Stop(ctx, w.id, 0); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return err
		}
	}
	return w.advance(store.Ended, d.Why, func(l *store.Lease) {
		if f.Exists {
			setTimes(l, f.Account)
		}
		if l.Exit == nil && st.Phase.Over() {
			l.Exit = w.m.exitOf(st)
		}
	})
}

// exitOf is the stored exit of a job that is over, at a time of the chain: receipts compare it with the lease.
func (m *Manager) exitOf(st runtime.Status) *store.Exit {
	exit := exitOf(st, m.o.Machine().UTC())
	exit.At = m.onChain(exit.At)
	return exit
}

// onChain is the chain's time at a date of this machine that is over.
func (m *Manager) onChain(date time.Time) time.Time {
	now := m.o.Now().UTC()
	return now.Add(-max(0, m.o.Machine().Sub(date)))
}

// exitOf is the exit of a job that is over, by this machine's date. One whose supervisor was killed has an unknown exit: it
// ended when the supervisor did, which may be long before an agent sees it.
func exitOf(st runtime.Status, now time.Time) *store.Exit {
	if st.Exit == nil {
		if !st.LostAt.IsZero() {
			now = st.LostAt
		}
		return &store.Exit{Code: -1, Reason: string(runtime.Lost), At: now}
	}
	return &store.Exit{Code: st.Exit.Code, Signal: st.Exit.Signal, Reason: string(st.Exit.Reason), At: st.Exit.FinishedAt.UTC()}
}

func describe(e store.Exit) string {
	switch runtime.Reason(e.Reason) {
	case runtime.ReasonExited:
		if e.Signal != "" {
			return "the job ended by " + e.Signal
		}
		return fmt.Sprintf("the job ended with status %d", e.Code)
	case runtime.ReasonStopped:
		return "the job was stopped"
	case runtime.ReasonWall:
		return "the job ran longer than its limit"
	case runtime.ReasonMemory:
		return "the job used more memory than its limit"
	case runtime.ReasonDisk:
		return "the job wrote more than its disk limit"
	case runtime.ReasonProcesses:
		return "the job started more processes than its limit"
	case runtime.ReasonSuspended:
		return "the job is suspended"
	case runtime.ReasonStartFailed:
		return "the job could not be started"
	case guestvm.ReasonSealed:
		return "the job is over, and its exit code is sealed for its customer"
	case guestvm.ReasonGuestEnded:
		return "the measured guest ended before its job"
	}
	return "the job ended, its exit is not known"
}

// statusOf is a lease's status as customers and keepers see it, with what the driver reports of its GPUs.
func (m *Manager) statusOf(r store.Lease, job runtime.Status) messages.LeaseStatus {
	s := statusOf(r, job)
	if s.StartedAt != 0 {
		s.StartedAt = m.onChain(job.StartedAt).Unix()
	}
	if m.o.Faults == nil || !r.State.Live() && r.Exit == nil {
		return s
	}
	if faults := m.o.Faults(r.GPUMask); faults != "" {
		s.Detail = printable.Text(strings.TrimPrefix(s.Detail+"; ", "; ") + faults)
	}
	return s
}

func statusOf(r store.Lease, job runtime.Status) messages.LeaseStatus {
	s := messages.LeaseStatus{Lease: r.Address, State: messages.LeaseWaiting, OutputBytes: uint64(job.StdoutBytes + job.StderrBytes)}
	if !job.StartedAt.IsZero() {
		s.StartedAt = job.StartedAt.Unix()
	}
	exit := r.Exit
	if exit == nil && job.Phase.Over() {
		exit = exitOf(job, time.Time{})
	}
	switch {
	case exit != nil:
		s.ExitCode, s.Detail = int32(exit.Code), describe(*exit)
		switch runtime.Reason(exit.Reason) {
		case runtime.ReasonStartFailed:
			s.State, s.Detail = messages.LeaseBroken, describe(*exit)
			if job.Exit != nil && job.Exit.Message != "" {
				s.Detail += ": " + job.Exit.Message
			} else if r.Note != "" {
				s.Detail = r.Note
			}
		case runtime.ReasonStopped:
			// A job that was stopped at the end of the paid-for time is over like any other until the lease is.
			if s.State = messages.LeaseStopped; r.State.Live() {
				s.State = messages.LeaseExited
			}
		default:
			s.State = messages.LeaseExited
		}
	case phase(job) == JobActive:
		s.State = messages.LeaseRunning
	case !r.State.Live():
		s.State, s.Detail = messages.LeaseStopped, r.Note
	default:
		s.Detail = r.Note
	}
	s.Detail = printable.Text(s.Detail)
	return s
}
