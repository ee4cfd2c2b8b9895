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
	// touchEvery is how often an agent notes that a guest runs.
	touchEvery = 5 * time.Second
	// maxOutput is how much of a job's sealed output is kept, bytes. The guest's customer cannot be given a part of it, since a
	// record opens after those before it alone.
	maxOutput = 256 << 20
)

// guest is that of a lease: it boots, waits for its job, runs it, and is over.
type guest struct {
	lease, dir string
	log        zerolog.Logger
	cancel     func()        // ends the boot
	booted     chan struct{} // closed when the boot is over

	mu      sync.Mutex
	machine *machine // nil before it has booted, and once it is closed
	failed  error    // of the boot, or why the guest has ended before it had a job
	brought *control.DeployQuestion
	state   state // zero before the job was started
	wall    *time.Timer
	whole   bool // the job's last record is here
}

// Of returns how to ask the guest of a lease, and starts it at the first call. Errors: ErrBoots, ErrUnavailable, why the guest did not
// boot.
func (r *Runtime) Of(lease string, share Share) (*control.Client, error) {
	g := r.guestOf(lease)
	if g == nil {
		var err error
		if g, err = r.begin(lease, share); err != nil {
			return nil, err
		}
	}
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

// begin has a guest boot.
func (r *Runtime) begin(lease string, share Share) (*guest, error) {
	if err := errors.Join(r.o.Check(), share.check()); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.guests[lease]; g != nil {
		return g, nil
	}
	ctx, cancel := context.WithCancel(r.ctx)
	g := &guest{
		lease: lease, dir: r.dir(lease), log: r.o.Log.With().Str("lease", lease).Logger(), cancel: cancel, booted: make(chan struct{}),
	}
	r.guests[lease] = g
	r.running.Go(func() { g.run(ctx, r, share) })
	return g, nil
}

// run boots, and ends the guest with the agent.
func (g *guest) run(ctx context.Context, r *Runtime, share Share) {
	began := time.Now()
	g.log.Info().Str("accelerator", r.o.Accelerator).Float64("cpus", share.CPUs).Uint64("memory_mib", share.MemoryMiB).Msg("a measured guest boots")
	m, err := r.boot(ctx, r.o, g.lease, share)
	g.mu.Lock()
	if err != nil {
		g.failed = fmt.Errorf("the guest did not boot: %w", err)
		if ctx.Err() == nil {
			g.log.Warn().Err(err).Msg("a measured guest did not boot")
		}
	} else {
		g.machine = m
		g.log.Info().Dur("after", time.Since(began)).Msg("the measured guest answers")
	}
	g.mu.Unlock()
	close(g.booted)
	if m == nil {
		return
	}
	select {
	case <-m.over:
		g.end(ReasonGuestEnded)
	case <-ctx.Done(): // of the agent, or by end itself
		g.end(reasonAgent)
	}
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
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return fmt.Errorf("folder of a guest: %w", err)
	}
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
		return err
	}
	g.extend(spec.Limits.Wall)
	go g.follow(m)
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
func (g *guest) follow(m *machine) {
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
		g.log.Debug().Err(err).Msg("the records of a guest ended")
		g.end(ReasonGuestEnded)
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

// end ends the guest, and its job with it, for a reason. What ended it first counts.
func (g *guest) end(why runtime.Reason) {
	g.cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
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
			g.failed = ErrNoGuest
		}
		return
	case g.state.Phase.Over():
		return
	}
	if why == ReasonGuestEnded && g.whole {
		why = ReasonSealed
	}
	now := time.Now().UTC()
	if why == reasonAgent {
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
