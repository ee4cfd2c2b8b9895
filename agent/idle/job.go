package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

// ID is the job's name in the runtime. Addresses of leases are longer.
const ID = "idle"

// Reason is why the job does not run, or was stopped.
type Reason string

// Reasons.
const (
	// Leased: leases have the GPUs.
	Leased Reason = "lease"
	// Measured: keepers may measure the machine now, or somebody does.
	Measured Reason = "measurement"
	// Withdrawn: the machine takes no new leases.
	Withdrawn Reason = "not-offering"
	// Slow: the machine was measured below SlowShare after the job had run.
	Slow Reason = "slow"
	// Failing: it has exited, and the agent starts it again after a pause.
	Failing Reason = "failing"
	// Starting: its image is fetched, or it has to wait for a moment.
	Starting Reason = "starting"
	// Ending: the agent ends.
	Ending Reason = "agent"
)

// Reasons are all of them.
func Reasons() []Reason {
	return []Reason{Leased, Measured, Withdrawn, Slow, Failing, Starting, Ending}
}

const (
	lookEvery = 500 * time.Millisecond
	// leaseGrace is how long the job may take to end for a lease, and anything but a measurement that waits.
	leaseGrace = 2 * time.Second
	// restTime is how long after a lease, a measurement or a withdrawal the GPUs are left alone. In short periods it is a share of the period.
	restTime, restShare = 10 * time.Second, 30
	// ranAfter is how long a job must run until it counts as one that works. firstPause doubles with each failure in a row.
	ranAfter              = time.Minute
	firstPause, longPause = 5 * time.Second, 10 * time.Minute
	// TellAfter is after how many failures in a row a person is told.
	TellAfter = 3
	// SlowShare is what the machine has to reach of its class while the job may run: less than keepers want at least, so that the job costs
	// no orders. SlowPause is how long the job stays away after less.
	SlowShare = 0.9
	SlowPause = 24 * time.Hour
	// worth is the least time for which the job is started.
	worth = 20 * time.Second
	// sayWall is the time after which the supervisor ends a job that the agent has not ended.
	sayWall = time.Second
	// logBytes bound what is kept of one run's output.
	logBytes = 1 << 20
	// againAfter is the pause before another attempt to end what an earlier agent has left.
	againAfter = time.Second
	// endTime bounds the end of the job. Processes that do not die, as in a driver that hangs, are ended with the next attempt.
	endTime = 10 * time.Second
)

// Runtime is what the job needs of the way to run jobs.
type Runtime interface {
	Check(spec runtime.Spec) error
	Prepare(ctx context.Context, spec runtime.Spec, pull runtime.Pull) error
	Start(ctx context.Context, spec runtime.Spec) (runtime.Status, error)
	Status(ctx context.Context, id string) (runtime.Status, error)
	Stop(ctx context.Context, id string, grace time.Duration) (runtime.Status, error)
	Logs(ctx context.Context, id string, stream runtime.Stream, offset int64, follow bool) (io.ReadCloser, error)
	Remove(ctx context.Context, id string) error
}

// Options of New. All but Count, Share, Now and Log are required.
type Options struct {
	Runtime Runtime
	// Spec is the job. Its image may have no digest yet: Resolve gives it one. Limits of 0 take Part.
	Spec    runtime.Spec
	Resolve func(ctx context.Context, image string) (string, error)
	// UUIDs are the machine's GPUs, Count how many the job takes; 0 for as many as are free.
	UUIDs []string
	Count int
	// Part is what of the machine belongs to a number of GPUs.
	Part func(gpus int) jobspec.Share
	// Leased is the mask of GPUs that have a lease; Changed is closed when that may be another.
	Leased  func() (uint64, error)
	Changed func() <-chan struct{}
	// Withheld says why the machine takes no new leases; empty if it does.
	Withheld func() string
	// Share is what the machine reached of its class when it was measured last, and in which period; ok is false where that says nothing.
	Share func() (period uint64, share float64, ok bool)
	// Period is the length of a period in seconds; 0 while the market is not known.
	Period   func() uint32
	Instants Instants
	// Output is the file that keeps what earlier runs have printed.
	Output string
	// Now is the chain's time.
	Now func() time.Time
	Log zerolog.Logger
}

// Job runs the owner's job. Its methods are safe for use by several goroutines; those of nil are of a machine without one.
type Job struct {
	o       Options
	moments moments
	spec    runtime.Spec // with the digest, once it is known
	// next is when the job may be started again, by a clock that nobody sets; slow until when it stays away.
	next, slow time.Time
	looked     bool   // a share was looked for
	judged     uint64 // the period whose share was looked at last
	prepared   bool
	wakeUp     chan struct{}

	mu sync.Mutex
	// mask is what the job has, or is being given.
	mask    uint64
	holds   int // measurements that have the GPUs, or wait for them
	held    bool
	changed chan struct{} // closed and replaced when mask gets smaller
	state   State
	began   time.Time
}

// New checks the options. Error: options.ErrMissing, runtime.ErrSpec and what else Runtime.Check says.
func New(o Options) (*Job, error) {
	if err := options.Complete("idle", o, "Count", "Now", "Log"); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Spec.LeaseID, o.Spec.Limits.Background, o.Spec.Limits.LogBytes = ID, true, logBytes
	// Until it is known what an earlier agent has left, that has all GPUs.
	j := &Job{o: o, mask: ^uint64(0), wakeUp: make(chan struct{}, 1), changed: make(chan struct{}), state: State{Image: o.Spec.Image, Why: Starting, Stops: map[Reason]uint64{}}}
	if part := o.Part(max(o.Count, 1)); o.Count > len(o.UUIDs) {
		return nil, fmt.Errorf("%w: idle: gpus %d, and the machine has %d", runtime.ErrSpec, o.Count, len(o.UUIDs))
	} else if err := fits(o.Spec.Limits, part); err != nil {
		return nil, err
	}
	return j, nil
}

// fits says what the job wants beyond the part of the machine that its GPUs are. Error: runtime.ErrSpec.
func fits(l runtime.Limits, part jobspec.Share) error {
	for _, c := range []struct {
		what       string
		want, have float64
	}{
		{"cpus", l.CPUs, part.CPUs}, {"memory_gib", float64(l.MemoryMiB) / 1024, float64(part.MemoryMiB) / 1024},
	} {
		if c.have > 0 && c.want > c.have {
			return fmt.Errorf("%w: idle: %s %.4g, and the part of the machine that its GPUs are has %.4g; set %s to that or less", runtime.ErrSpec, c.what, c.want, c.have, c.what)
		}
	}
	return nil
}

// Aside calls f while the job has no GPU and gets none. Error: f's, ctx's.
func (j *Job) Aside(ctx context.Context, f func(context.Context) error) error {
	if j == nil {
		return f(ctx)
	}
	j.hold(1)
	defer j.hold(-1)
	if err := j.Yield(ctx, ^uint64(0)); err != nil {
		return err
	}
	return f(ctx)
}

func (j *Job) hold(more int) {
	j.mu.Lock()
	j.holds += more
	j.held = true
	j.mu.Unlock()
	j.wake()
}

// Yield returns when the job has none of the GPUs in a mask. It gets none while they are leased, which they have to be before the call.
// Error: ctx's.
func (j *Job) Yield(ctx context.Context, mask uint64) error {
	if j == nil {
		return nil
	}
	for {
		j.mu.Lock()
		has, changed := j.mask&mask != 0, j.changed
		j.mu.Unlock()
		if !has {
			return nil
		}
		j.wake()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (j *Job) wake() {
	select {
	case j.wakeUp <- struct{}{}:
	default:
	}
}

// Run runs the job when it may run, until ctx ends. Then the job ends, too.
func (j *Job) Run(ctx context.Context) error {
	check := j.o.Runtime.Check(j.checked())
	for {
		err := j.adopt(ctx, check == nil)
		if err == nil {
			break
		}
		j.o.Log.Warn().Err(err).Msg("what an earlier agent has left of the idle job cannot be ended; the agent tries again")
		if err := wait.For(ctx, againAfter); err != nil {
			return err
		}
	}
	if check != nil {
		j.never(check)
		<-ctx.Done()
		return ctx.Err()
	}
	for {
		changed := j.o.Changed()
		if err := j.step(ctx); err != nil && ctx.Err() == nil {
			j.o.Log.Debug().Err(err).Msg("the idle job waits")
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
			defer cancel()
			if err := j.stop(end, Ending, leaseGrace); err != nil {
				j.o.Log.Warn().Err(err).Msg("the idle job did not end; its supervisor ends it")
			}
			return ctx.Err()
		case <-changed:
		case <-j.wakeUp:
		case <-t.C:
		}
		t.Stop()
	}
}

// checked is the job with a digest, for rules that ask for one.
func (j *Job) checked() runtime.Spec {
	s := j.o.Spec
	if s.Image != "" {
		s.Image = "docker.io/library/idle@sha256:" + fmt.Sprintf("%064d", 0)
	}
	return s
}

// never says that the job will not run.
func (j *Job) never(err error) {
	j.o.Log.Error().Err(err).Msg("the idle job cannot run on this machine")
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Why, j.state.Text, j.state.Never = Failing, err.Error(), true
	j.state.LastFailure = err.Error()
}

// adopt keeps a job that an earlier agent has started, if the settings name that job. It ends any other.
func (j *Job) adopt(ctx context.Context, may bool) error {
	st, err := j.o.Runtime.Status(ctx, ID)
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	if err == nil && may && st.Phase == runtime.Running && same(st.Spec, j.specFor(st.Spec.GPUMask, st.Spec.Image, 0)) && j.named(ctx, st.Spec.Image) {
		j.spec = st.Spec
		j.mu.Lock()
		defer j.mu.Unlock()
		j.mask, j.began = st.Spec.GPUMask, time.Now()
		j.state.Starts++
		j.o.Log.Info().Int("pid", st.PID).Msg("the idle job of an earlier agent runs on")
		return nil
	}
	if err == nil { // leases of other GPUs do not wait for it
		j.mu.Lock()
		j.let(st.Spec.GPUMask)
		j.mu.Unlock()
	}
	// An image that was fetched may be another than the settings name now.
	return j.stop(ctx, Starting, leaseGrace)
}

// named reports whether the settings' image is the one with a digest. What no registry confirms is ended: it starts again as the settings say.
func (j *Job) named(ctx context.Context, digested string) bool {
	if j.o.Spec.Image == digested || j.o.Spec.Image == "" {
		return j.o.Spec.Image == digested
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	now, err := j.o.Resolve(ctx, j.o.Spec.Image)
	return err == nil && now == digested
}

// resolveTime bounds a question to a registry.
const resolveTime = 10 * time.Second

// step reads the state of leases, measurements and the job, and starts or stops the job.
func (j *Job) step(ctx context.Context) error {
	st, err := j.o.Runtime.Status(ctx, ID)
	switch {
	case errors.Is(err, runtime.ErrNotFound):
		st = runtime.Status{}
	case err != nil:
		return err
	case st.Phase.Over():
		if err := j.over(ctx, st); err != nil {
			return err
		}
		st = runtime.Status{}
	}
	now := j.o.Now()
	j.judge()
	j.mu.Lock()
	r, err := j.wants(now)
	has := j.mask
	if r.why == Leased || r.why == Withdrawn {
		j.rest(j.o.Period())
	}
	if has == 0 && r.mask != 0 && time.Now().Before(j.next) {
		r.mask, r.pull = 0, false
		if r.why = Starting; j.state.Failures > 0 {
			r.why, r.text = Failing, j.state.LastFailure
		}
	}
	j.say(r)
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if has != 0 && has != r.mask {
		why, grace := r.why, leaseGrace
		if r.mask != 0 {
			why = Leased // others than before
		}
		if why == Measured {
			grace = j.graceNow()
		}
		return j.stop(ctx, why, grace)
	}
	if has != 0 {
		return nil
	}
	if j.prepared && (r.why == Leased || r.why == Withdrawn) { // its image has room that a lease may need
		return j.clear(ctx)
	}
	if err := j.moments.look(ctx, now, j.o.Instants); err != nil && ctx.Err() == nil {
		j.o.Log.Debug().Err(err).Msg("the chain did not say whether keepers measure the machine; the idle job waits longer")
	}
	if (r.mask != 0 || r.pull) && !j.prepared {
		return j.prepare(ctx)
	}
	if r.mask == 0 {
		return nil
	}
	return j.start(ctx, now, r)
}

// graceNow is nothing when a measurement waits already.
func (j *Job) graceNow() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.holds > 0 {
		return 0
	}
	return j.moments.grace()
}
