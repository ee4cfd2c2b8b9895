package guestvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/guest/control"
)

var (
	// ErrBoots: the guest does not answer yet.
	ErrBoots = errors.New("the guest boots")
	// ErrHasJob: the guest has its job, and proves nothing any more.
	ErrHasJob = errors.New("the guest of this lease has a job")
	// ErrNoGuest: the lease has no guest that could take a job. An agent that has started anew has none.
	ErrNoGuest = errors.New("this lease has no guest here: ask it to prove itself first")
	// errNotInGuests: containers have it, and guests do not.
	errNotInGuests = errors.New("the measured guest has none")
)

// Runtime runs the jobs of guests, and leaves all others to another runtime.
type Runtime struct {
	runtime.Runtime
	o       Options
	ctx     context.Context // of the guests
	stop    func()
	running sync.WaitGroup
	boot    func(ctx context.Context, o Options, lease string, share Share) (*machine, error) // boot, but in tests

	mu     sync.Mutex
	guests map[string]*guest
	stored map[string]state // of leases whose guests an earlier agent had
}

var _ runtime.Runtime = (*Runtime)(nil)

// New reads what an earlier agent has left: its guests have ended with it. Close ends the guests.
func New(inner runtime.Runtime, o Options) (*Runtime, error) {
	r := &Runtime{Runtime: inner, o: o, boot: boot, guests: map[string]*guest{}, stored: map[string]state{}}
	known, err := leases(o.Folder)
	if err != nil {
		return nil, err
	}
	for _, lease := range known {
		s, err := readState(r.dir(lease))
		if errors.Is(err, fs.ErrNotExist) { // it was about to start
			if err := os.RemoveAll(r.dir(lease)); err != nil {
				return nil, fmt.Errorf("folder of a guest: %w", err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		r.stored[lease] = s
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// Close ends all guests, and waits.
func (r *Runtime) Close() {
	r.stop()
	r.running.Wait()
}

// Available says why this machine can start no guest with a share of it. Error: ErrUnavailable.
func (r *Runtime) Available(share Share) error { return errors.Join(r.o.Check(), share.check()) }

// Bring keeps a sealed job for the guest of a lease, which is given it when the job is started. Errors: ErrNoGuest, ErrHasJob.
func (r *Runtime) Bring(lease string, key [32]byte, sealed []byte) error {
	g := r.guestOf(lease)
	if g == nil {
		return ErrNoGuest
	}
	return g.bring(control.DeployQuestion{Key: key, Sealed: sealed})
}

func (r *Runtime) dir(lease string) string { return filepath.Join(r.o.Folder, leaseFolder, lease) }

func (r *Runtime) guestOf(lease string) *guest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.guests[lease]
}

// has reports what a lease has here.
func (r *Runtime) has(lease string) (g *guest, stored state, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g = r.guests[lease]; g != nil {
		return g, state{}, true
	}
	stored, ok = r.stored[lease]
	return nil, stored, ok
}

// Check implements [runtime.Runtime].
func (r *Runtime) Check(spec runtime.Spec) error {
	if !spec.Guest {
		return r.Runtime.Check(spec)
	}
	if err := r.o.Check(); err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrSpec, err)
	}
	return nil
}

// Prepare implements [runtime.Runtime]: the guest fetches its image itself.
func (r *Runtime) Prepare(ctx context.Context, spec runtime.Spec, pull runtime.Pull) error {
	if spec.Guest {
		return nil
	}
	return r.Runtime.Prepare(ctx, spec, pull)
}

// Fill implements [runtime.Runtime].
func (r *Runtime) Fill(ctx context.Context, spec runtime.Spec) error {
	if spec.Guest {
		return nil
	}
	return r.Runtime.Fill(ctx, spec)
}

// Start implements [runtime.Runtime]: the guest opens the job that was brought.
func (r *Runtime) Start(ctx context.Context, spec runtime.Spec) (runtime.Status, error) {
	if !spec.Guest {
		return r.Runtime.Start(ctx, spec)
	}
	g, _, known := r.has(spec.LeaseID)
	switch {
	case g != nil:
		if err := g.start(ctx, spec); err != nil {
			return runtime.Status{}, err
		}
		return r.Status(ctx, spec.LeaseID)
	case known:
		return runtime.Status{}, runtime.ErrExists
	}
	return runtime.Status{}, fmt.Errorf("%w: %w", runtime.ErrSpec, ErrNoGuest)
}

// Status implements [runtime.Runtime]. A guest without a job is being prepared.
func (r *Runtime) Status(ctx context.Context, lease string) (runtime.Status, error) {
	g, s, ok := r.has(lease)
	if !ok {
		return r.Runtime.Status(ctx, lease)
	}
	if g != nil {
		g.mu.Lock()
		s = g.state
		g.mu.Unlock()
	}
	st := runtime.Status{LeaseID: lease, Phase: s.Phase, StartedAt: s.StartedAt, Exit: s.Exit, LostAt: s.LostAt, Spec: s.Spec}
	if s.Phase == "" {
		st.Phase = runtime.Preparing
		return st, nil
	}
	st.StdoutBytes = outputBytes(r.dir(lease))
	st.Limits = []string{"memory and processors: those of a virtual machine, as large as the lease's share", "output: sealed for the customer"}
	if r.o.Accelerator == TCG {
		st.Limits = append(st.Limits, "processor: emulated (TCG), which is slow")
	}
	return st, nil
}

// Usage implements [runtime.Runtime].
func (r *Runtime) Usage(ctx context.Context, lease string) (runtime.Usage, error) {
	if _, _, ok := r.has(lease); ok {
		return runtime.Usage{}, fmt.Errorf("%w: what a measured guest uses is not read", runtime.ErrNotRunning)
	}
	return r.Runtime.Usage(ctx, lease)
}

// Stop implements [runtime.Runtime].
func (r *Runtime) Stop(ctx context.Context, lease string, grace time.Duration) (runtime.Status, error) {
	g, _, ok := r.has(lease)
	if !ok {
		return r.Runtime.Stop(ctx, lease, grace)
	}
	if g != nil {
		g.end(runtime.ReasonStopped)
	}
	return r.Status(ctx, lease)
}

// Suspend implements [runtime.Runtime].
func (r *Runtime) Suspend(ctx context.Context, lease, attempt string) (runtime.Suspension, error) {
	if _, _, ok := r.has(lease); ok {
		return runtime.Suspension{}, fmt.Errorf("%w: a container in a measured guest cannot be kept", runtime.ErrSuspend)
	}
	return r.Runtime.Suspend(ctx, lease, attempt)
}

// Extend implements [runtime.Runtime].
func (r *Runtime) Extend(ctx context.Context, lease string, left time.Duration) error {
	g, _, ok := r.has(lease)
	if !ok {
		return r.Runtime.Extend(ctx, lease, left)
	}
	if g == nil {
		return runtime.ErrOver
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.Phase.Over() {
		return runtime.ErrOver
	}
	g.extend(left)
	return nil
}

// Logs implements [runtime.Runtime]: the sealed records, in the form of control.Frames. Both outputs are in them.
func (r *Runtime) Logs(ctx context.Context, lease string, stream runtime.Stream, offset int64, follow bool) (io.ReadCloser, error) {
	g, s, ok := r.has(lease)
	if !ok {
		return r.Runtime.Logs(ctx, lease, stream, offset, follow)
	}
	none := fmt.Errorf("%w: the guest has no such output", runtime.ErrNotFound)
	if stream != runtime.Output {
		return nil, none
	}
	f, err := os.Open(filepath.Join(r.dir(lease), outputFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	if err != nil {
		return nil, fmt.Errorf("output of a guest: %w", err)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("output of a guest: %w", err), f.Close())
	}
	return runtime.Follow(ctx, f, follow, func() bool {
		if g == nil {
			return s.Phase.Over()
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.state.Phase.Over()
	}), nil
}

// Shell implements [runtime.Runtime].
func (r *Runtime) Shell(ctx context.Context, lease string, asRoot bool, setup []byte, stream io.ReadWriter) error {
	if _, _, ok := r.has(lease); ok {
		return fmt.Errorf("%w: no shell and no ports: %w", runtime.ErrShell, errNotInGuests)
	}
	return r.Runtime.Shell(ctx, lease, asRoot, setup, stream)
}

// Remove implements [runtime.Runtime].
func (r *Runtime) Remove(ctx context.Context, lease string) error {
	g, _, ok := r.has(lease)
	if !ok {
		return r.Runtime.Remove(ctx, lease)
	}
	if g != nil {
		g.mu.Lock()
		runs := g.state.Phase == runtime.Running
		g.mu.Unlock()
		if runs {
			return runtime.ErrRunning
		}
		g.end(runtime.ReasonStopped)
		<-g.booted // it has ended with the boot's context
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.guests, lease)
	delete(r.stored, lease)
	if err := os.RemoveAll(r.dir(lease)); err != nil {
		return fmt.Errorf("folder of a guest: %w", err)
	}
	return nil
}
