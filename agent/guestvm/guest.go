package guestvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/guest/control"
)

const (
	// touchEvery is how often a supervisor notes that a guest runs.
	touchEvery = 5 * time.Second
	// maxOutput is how much of a job's sealed output is kept, bytes. The guest's customer cannot be given a part of it, since a
	// record opens after those before it alone.
	maxOutput = 256 << 20
)

// unusedFor is how long a guest may wait for its job after the boot. It counts only while no agent runs: an agent ends the guest with its
// lease.
const unusedFor = 6 * time.Hour

// guest is that of a lease, in its supervisor: it boots, waits for its job, runs it, and is over.
type guest struct {
	lease, dir string
	log        zerolog.Logger
	cancel     func() // ends the boot, and then the supervisor

	starting sync.Mutex // one start at a time: that of an agent which was killed goes on
	mu       sync.Mutex
	machine  *machine // nil before it has booted, and once it is closed
	failed   error    // of the boot, or why the guest has ended before it had a job
	brought  *control.DeployQuestion
	state    state // zero before the job was started
	wall     *time.Timer
	whole    bool // the job's last record is here
}

// run boots, and returns when the guest has ended. The end of ctx ends it.
func (g *guest) run(ctx context.Context, boot bootFunc, o Options, share Share) {
	began := time.Now()
	m, err := boot(ctx, o, g.lease, share)
	g.mu.Lock()
	switch {
	case err == nil:
		g.machine = m
		g.log.Info().Dur("after", time.Since(began)).Msg("the measured guest answers")
	case g.failed == nil: // it was not stopped
		g.fail(fmt.Errorf("the guest did not boot: %w", err))
	}
	g.mu.Unlock()
	if m == nil {
		return
	}
	unused := time.AfterFunc(unusedFor, g.endUnused)
	defer unused.Stop()
	select {
	case <-m.over:
		g.ended(ctx)
	case <-ctx.Done(): // of the supervisor, or by end itself
		g.end(reasonSupervisor)
	}
}

// shutdownLag is how much later than its guest a supervisor may be told that the machine is switched off.
const shutdownLag = time.Second

// ended notes that the guest is over, and why: by itself, or because the machine is switched off, which ends all processes.
func (g *guest) ended(ctx context.Context) {
	select {
	case <-ctx.Done():
		g.end(reasonSupervisor)
	case <-time.After(shutdownLag):
		g.end(ReasonGuestEnded)
	}
}

// fail notes why the guest ends without a job. The caller holds the lock.
func (g *guest) fail(why error) {
	g.failed = why
	g.log.Warn().Err(why).Msg("a measured guest ends without a job")
	if err := writeFile(g.dir, failureFile, failure{why.Error()}); err != nil {
		g.log.Error().Err(err).Msg("why a guest has ended is not stored")
	}
}

// ask returns how to ask the guest. Errors: ErrBoots, ErrHasJob, why there is none.
func (g *guest) ask() (*control.Client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.state.Phase != "":
		return nil, ErrHasJob
	case g.failed != nil:
		return nil, g.failed
	case g.machine == nil:
		return nil, ErrBoots
	}
	return g.machine.Client, nil
}

// bring keeps a sealed job for the guest until it is started. It replaces one that was brought before. Errors: ErrNoGuest, ErrHasJob.
func (g *guest) bring(q control.DeployQuestion) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.state.Phase != "":
		return ErrHasJob
	case g.machine == nil:
		return ErrNoGuest
	}
	g.brought = &q
	return nil
}

// start gives the guest its job, and follows it.
func (g *guest) start(ctx context.Context, spec runtime.Spec) error {
	g.starting.Lock()
	defer g.starting.Unlock()
	g.mu.Lock()
	m, q := g.machine, g.brought
	switch {
	case g.state.Phase != "":
		g.mu.Unlock()
		return runtime.ErrExists
	case m == nil || q == nil:
		g.mu.Unlock()
		return fmt.Errorf("%w: %w", runtime.ErrSpec, ErrNoGuest)
	}
	g.mu.Unlock()
	if err := os.WriteFile(filepath.Join(g.dir, outputFile), []byte(control.SealedOutput), 0o600); err != nil {
		return fmt.Errorf("output of a guest: %w", err)
	}
	network := m.network
	q.Network = &network
	if _, err := m.Deploy(ctx, *q); err != nil {
		if errors.Is(err, control.ErrRefused) {
			return fmt.Errorf("%w: %w", runtime.ErrSpec, err)
		}
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.brought = nil
	g.state = state{Phase: runtime.Running, StartedAt: time.Now().UTC(), Spec: spec}
	if err := g.state.write(g.dir); err != nil {
		g.state = state{}
		g.cancel() // no agent would know of the job
		return err
	}
	g.extend(spec.Limits.Wall)
	go g.follow(ctx, m)
	return nil
}

// prolong sets for how long the job may run from now on. Error: runtime.ErrOver.
func (g *guest) prolong(left time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.Phase.Over() {
		return runtime.ErrOver
	}
	g.extend(left)
	return nil
}

// extend sets for how long the job may run from now on; 0 for as long as it likes. The caller holds the lock.
func (g *guest) extend(left time.Duration) {
	if g.wall != nil {
		g.wall.Stop()
	}
	if left > 0 {
		g.wall = time.AfterFunc(left, func() { g.end(runtime.ReasonWall) })
	}
}

// follow keeps the sealed records until the last one.
func (g *guest) follow(ctx context.Context, m *machine) {
	touched, stop := context.WithCancel(context.Background())
	defer stop()
	go g.touch(touched)
	err := g.fetch(touched, m)
	switch {
	case err == nil:
		g.mu.Lock()
		g.whole = true
		g.mu.Unlock()
		m.off(touched)
		g.end(ReasonSealed)
	case errors.Is(err, errTooMuch):
		g.end(runtime.ReasonDisk)
	default:
		g.log.Warn().Err(err).Msg("a guest gives no more records, and its job is not over")
		g.ended(ctx)
	}
}

var errTooMuch = errors.New("the job has put out more than is kept")

// fetch writes the records as they come.
func (g *guest) fetch(ctx context.Context, m *machine) error {
	f, err := os.OpenFile(filepath.Join(g.dir, outputFile), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("output of a guest: %w", err)
	}
	defer f.Close()
	written := 0
	for next := uint64(0); ; {
		a, err := m.Output(ctx, next)
		if err != nil {
			return err
		}
		var frames []byte
		for _, sealed := range a.Records {
			frames = control.AppendFrame(frames, sealed)
		}
		if written += len(frames); written > maxOutput {
			return errTooMuch
		}
		if _, err := f.Write(frames); err != nil {
			return fmt.Errorf("output of a guest: %w", err)
		}
		next += uint64(len(a.Records))
		if a.Over {
			return nil
		}
		if len(a.Records) == 0 {
			return errors.New("the guest gives no more records, and its job is not over")
		}
	}
}

// touch notes again and again that the guest runs.
func (g *guest) touch(ctx context.Context) {
	tick := time.NewTicker(touchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			_ = os.Chtimes(filepath.Join(g.dir, stateFile), now, now) // a lost one ended a little earlier then
		}
	}
}

// endUnused ends a guest that has no job.
func (g *guest) endUnused() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.Phase == "" {
		g.cancel()
	}
}

// end ends the guest, and its job with it, for a reason. What ended it first counts.
func (g *guest) end(why runtime.Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.cancel()
	if g.machine != nil {
		if err := g.machine.close(); err != nil {
			g.log.Warn().Err(err).Msg("a guest left something behind")
		}
		g.machine = nil
	}
	if g.wall != nil {
		g.wall.Stop()
	}
	switch {
	case g.state.Phase == "":
		if g.failed == nil {
			g.fail(ErrNoGuest)
		}
		return
	case g.state.Phase.Over():
		return
	}
	if why == ReasonGuestEnded && g.whole {
		why = ReasonSealed
	}
	now := time.Now().UTC()
	if why == reasonSupervisor {
		g.state.Phase, g.state.LostAt = runtime.Lost, now
	} else {
		g.state.Phase, g.state.Exit = runtime.Exited, &runtime.Exit{Reason: why, Code: codes[why], Message: messagesOf[why], StartedAt: g.state.StartedAt, FinishedAt: now}
	}
	if err := g.state.write(g.dir); err != nil {
		g.log.Error().Err(err).Msg("how a guest's job has ended is not stored")
	}
	g.log.Info().Str("why", string(why)).Msg("the guest of a lease has ended")
}

// codes are exit codes as a machine without guests gives them. That of a sealed end only the customer knows.
var codes = map[runtime.Reason]int{ReasonSealed: -1, ReasonGuestEnded: 137, runtime.ReasonStopped: 143, runtime.ReasonWall: 137, runtime.ReasonDisk: 137}

// messagesOf say what happened.
var messagesOf = map[runtime.Reason]string{
	ReasonSealed: "the job is over; its exit code is sealed for its customer", ReasonGuestEnded: "the guest ended before its job",
	runtime.ReasonDisk: "the job has put out more than the machine keeps",
}
