package idle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/wait"
)

// specFor is the job on the GPUs of a mask, for at most a time.
func (j *Job) specFor(mask uint64, image string, wall time.Duration) runtime.Spec {
	s := j.o.Spec
	s.Image, s.GPUMask, s.GPUUUIDs = image, mask, nil
	for i, uuid := range j.o.UUIDs {
		if mask>>i&1 == 1 {
			s.GPUUUIDs = append(s.GPUUUIDs, uuid)
		}
	}
	part := j.o.Part(bits.OnesCount64(mask))
	if s.Limits.CPUs == 0 {
		s.Limits.CPUs = part.CPUs
	}
	if s.Limits.MemoryMiB == 0 {
		s.Limits.MemoryMiB = part.MemoryMiB
	}
	if part.DiskMiB > 0 {
		s.Limits.DiskMiB = min(s.Limits.DiskMiB, part.DiskMiB)
	}
	s.Limits.Wall = wall
	return s
}

// same reports whether two jobs are the same one, for whatever time.
func same(a, b runtime.Spec) bool {
	a.Limits.Wall, b.Limits.Wall = 0, 0
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// prepare fetches the image. That needs no GPU and continues during a measurement. A new lease cancels it, because the lease's own image
// comes first.
func (j *Job) prepare(ctx context.Context) error {
	if time.Now().Before(j.next) {
		return nil
	}
	before, err := j.o.Leased()
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.state.Why, j.state.Text = Starting, "its image is fetched, if it is not there"
	j.mu.Unlock()
	pull, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			changed := j.o.Changed()
			if now, err := j.o.Leased(); err == nil && now&^before != 0 {
				cancel()
			}
			select {
			case <-pull.Done():
				return
			case <-changed:
			}
		}
	}()
	err = j.fetch(pull)
	ended := pull.Err() != nil
	cancel()
	<-watched
	switch {
	case err == nil:
		j.prepared = true
		return nil
	case ended: // it is fetched when the lease is over
		return err
	}
	j.failed(fmt.Sprintf("its image cannot be fetched: %v", err))
	return err
}

func (j *Job) fetch(ctx context.Context) error {
	if j.spec.LeaseID == "" {
		image := j.o.Spec.Image
		if image != "" {
			resolve, cancel := context.WithTimeout(ctx, resolveTime)
			defer cancel()
			var err error
			if image, err = j.o.Resolve(resolve, image); err != nil {
				return err
			}
		}
		j.spec = j.specFor(0, image, 0)
		j.o.Log.Info().Str("image", image).Msg("the image of the idle job has its digest until the agent starts again")
	}
	return j.o.Runtime.Prepare(ctx, j.specFor(j.choose(0), j.spec.Image, 0), runtime.Pull{Own: true})
}

// start starts the job, unless something has changed.
func (j *Job) start(ctx context.Context, now time.Time, was look) error {
	j.mu.Lock()
	is, err := j.wants(now)
	if err != nil || is.mask != was.mask {
		j.mu.Unlock()
		return err
	}
	j.mask, j.began = is.mask, time.Now()
	j.mu.Unlock()
	st, err := j.o.Runtime.Start(ctx, j.specFor(is.mask, j.spec.Image, is.until.Sub(now)+sayWall))
	if err != nil {
		failed := j.stop(context.WithoutCancel(ctx), Failing, 0)
		if ctx.Err() == nil {
			j.failed(fmt.Sprintf("it cannot be started: %v", err))
		}
		return errors.Join(err, failed)
	}
	j.mu.Lock()
	j.state.Starts++
	j.say(is)
	j.mu.Unlock()
	j.o.Log.Info().Int("pid", st.PID).Ints("gpus", indices(is.mask)).Time("until", is.until).Msg("the idle job runs")
	return nil
}

// stop ends the job and releases its GPUs, disk and network.
func (j *Job) stop(ctx context.Context, why Reason, grace time.Duration) error {
	began := time.Now()
	end, cancel := context.WithTimeout(ctx, grace+endTime)
	defer cancel()
	st, err := j.o.Runtime.Stop(end, ID, grace)
	if err == nil {
		err = j.stopped(ctx, st, why, began)
	} else if errors.Is(err, runtime.ErrNotFound) {
		err = j.clear(ctx)
	}
	if err != nil && ctx.Err() == nil {
		j.failed(fmt.Sprintf("it cannot be ended, and keeps its GPUs from leases: %v", err))
		return fmt.Errorf("stop the idle job: %w", err)
	}
	return err
}

// stopped records that the agent has stopped the job, and releases its GPUs, disk and network.
func (j *Job) stopped(ctx context.Context, st runtime.Status, why Reason, began time.Time) error {
	j.o.Log.Info().Str("why", string(why)).Dur("took", time.Since(began)).Msg("the idle job was stopped")
	ran := j.account(st)
	j.mu.Lock()
	if why != Failing {
		j.state.Stops[why]++
		if ran >= ranAfter {
			j.state.Failures, j.state.LastFailure = 0, ""
		}
	}
	j.mu.Unlock()
	return j.clear(ctx)
}

// over records the exit of a job that the agent did not stop.
func (j *Job) over(ctx context.Context, st runtime.Status) error {
	ran := j.account(st)
	if st.Phase == runtime.Lost { // what its supervisor would have cleared away
		if _, err := j.o.Runtime.Stop(ctx, ID, 0); err != nil {
			return fmt.Errorf("clear away the idle job: %w", err)
		}
	}
	if err := j.clear(ctx); err != nil {
		return err
	}
	if st.Exit != nil && st.Exit.Reason == runtime.ReasonWall { // its agent was away
		j.mu.Lock()
		j.state.Stops[Measured]++
		j.mu.Unlock()
		return nil
	}
	if ran >= ranAfter {
		j.mu.Lock()
		j.state.Failures = 0
		j.mu.Unlock()
	}
	j.failed(fmt.Sprintf("%s after %s", ending(st), ran.Round(100*time.Millisecond)))
	return nil
}

// ending says how a job ended.
func ending(st runtime.Status) string {
	switch e := st.Exit; {
	case e == nil:
		return "it was killed"
	case e.Reason == runtime.ReasonExited:
		return fmt.Sprintf("it ended with status %d", e.Code)
	case e.Message != "":
		return fmt.Sprintf("it ended (%s): %s", e.Reason, e.Message)
	default:
		return fmt.Sprintf("it ended (%s)", e.Reason)
	}
}

// failed waits before the next attempt, twice as long after each.
func (j *Job) failed(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Failures++
	j.state.Failed++
	j.state.LastFailure = why
	pause := min(firstPause<<min(j.state.Failures-1, 16), longPause)
	if at := time.Now().Add(pause); at.After(j.next) {
		j.next = at
	}
	j.o.Log.Warn().Str("why", why).Int("failures", j.state.Failures).Dur("pause", pause).Msg("the idle job failed; it is started again after a pause")
}

// account adds a run to what is told of the job, and keeps what it has printed.
func (j *Job) account(st runtime.Status) time.Duration {
	j.mu.Lock()
	ran := time.Duration(0)
	if !j.began.IsZero() {
		ran = time.Since(j.began)
	}
	j.began = time.Time{}
	j.state.Ran += ran
	j.mu.Unlock()
	if err := j.keep(st); err != nil {
		j.o.Log.Warn().Err(err).Msg("what the idle job has printed cannot be kept")
	}
	return ran
}

// clear removes what is left of the job, whose processes are gone, and lets go of its GPUs.
func (j *Job) clear(ctx context.Context) error {
	if err := j.remove(ctx); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.prepared = false
	j.let(0)
	j.state.GPUs, j.state.Since = nil, time.Time{}
	return nil
}

// let sets the GPUs that the job still has, and wakes leases that wait for the others. The caller holds mu.
func (j *Job) let(mask uint64) {
	j.mask = mask
	close(j.changed)
	j.changed = make(chan struct{})
}

// removeTime is how long the supervisor of a job that is over may take to be gone.
const removeTime = 5 * time.Second

func (j *Job) remove(ctx context.Context) (err error) {
	waited := wait.Again(ctx, removeTime, 20*time.Millisecond, func() bool {
		err = j.o.Runtime.Remove(ctx, ID)
		return errors.Is(err, runtime.ErrRunning)
	})
	if errors.Is(err, runtime.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("remove the idle job: %w", errors.Join(err, waited))
	}
	return nil
}

func indices(mask uint64) (out []int) {
	for ; mask != 0; mask &= mask - 1 {
		out = append(out, bits.TrailingZeros64(mask))
	}
	return out
}

// End ends what is left of a job on a machine whose settings have none any more.
func End(ctx context.Context, r Runtime) error {
	j := &Job{o: Options{Runtime: r}, changed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, leaseGrace+endTime)
	defer cancel()
	if _, err := r.Stop(ctx, ID, leaseGrace); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("end the idle job: %w", err)
	}
	return j.remove(ctx)
}
