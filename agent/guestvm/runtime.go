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

// Runtime runs the jobs of guests, and leaves all others to another runtime. The guests outlive it: each has a supervisor of its own.
type Runtime struct {
	runtime.Runtime
	o     Options
	spawn func(dir string, lock *os.File) error // spawn, but in tests

	mu     sync.Mutex
	guests map[string]*remote
}

var _ runtime.Runtime = (*Runtime)(nil)

// New finds the guests that earlier agents have started. It removes what remains of guests whose supervisor does not run any more.
func New(inner runtime.Runtime, o Options) (*Runtime, error) {
	r := &Runtime{Runtime: inner, o: o, spawn: spawn, guests: map[string]*remote{}}
	known, err := leases(o.Folder)
	if err != nil {
		return nil, err
	}
	for _, lease := range known {
		g := &remote{lease: lease, dir: r.dir(lease)}
		s, live, err := g.look()
		if err == nil && s.Phase == "" && !live { // it had no job, and another guest can take it
			if err = g.remove(); err == nil {
				continue
			}
		}
		if err != nil { // other leases go on; whatever is done with this one tries again
			o.Log.Error().Err(err).Str("lease", lease).Msg("a guest of an earlier agent cannot be looked at, or removed")
		}
		if live {
			o.Log.Info().Str("lease", lease).Str("job", string(s.Phase)).Msg("the measured guest of an earlier agent goes on")
		}
		r.guests[lease] = g
	}
	return r, nil
}

// Left reports whether there are guests in a folder, or what is left of some.
func Left(folder string) (bool, error) {
	known, err := leases(folder)
	return len(known) > 0, err
}

// Live are the leases whose guests run, in a folder of guests.
func Live(folder string) (live []string, err error) {
	known, err := leases(folder)
	for _, lease := range known {
		if runtime.Locked(filepath.Join(folder, leaseFolder, lease, lockFile)) {
			live = append(live, lease)
		}
	}
	return live, err
}

// Close ends the sessions with the guests, which go on.
func (r *Runtime) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.guests {
		g.close()
	}
}

// Of returns how to ask the guest of a lease, and starts it at the first call. Errors: ErrBoots, ErrHasJob, ErrUnavailable, why the guest
// did not boot.
func (r *Runtime) Of(lease string, share Share) (*control.Client, error) {
	g := r.guestOf(lease)
	if g == nil {
		var err error
		if g, err = r.begin(lease, share); err != nil {
			return nil, err
		}
	}
	client, fresh, err := g.session(context.Background())
	if fresh && err == nil {
		r.o.Log.Info().Str("lease", lease).Msg("the measured guest answers")
	}
	return client, err
}

// begin has a guest boot.
func (r *Runtime) begin(lease string, share Share) (*remote, error) {
	if err := errors.Join(r.o.Check(), share.check()); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.guests[lease]; g != nil {
		return g, nil
	}
	g := &remote{lease: lease, dir: r.dir(lease)}
	if err := g.begin(r.o, share, r.spawn); err != nil {
		return nil, err
	}
	r.guests[lease] = g
	r.o.Log.Info().Str("lease", lease).Str("accelerator", r.o.Accelerator).Float64("cpus", share.CPUs).Uint64("memory_mib", share.MemoryMiB).Msg("a measured guest boots")
	return g, nil
}

// Available says why this machine can start no guest with a share of it. Error: ErrUnavailable.
func (r *Runtime) Available(share Share) error { return errors.Join(r.o.Check(), share.check()) }

// Bring keeps a sealed job for the guest of a lease, which is given it when the job is started. Errors: ErrNoGuest, ErrHasJob.
func (r *Runtime) Bring(lease string, key [32]byte, sealed []byte) error {
	g := r.guestOf(lease)
	if g == nil {
		return ErrNoGuest
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	return g.do(ctx, request{Do: doBring, Key: key[:], Sealed: sealed})
}

func (r *Runtime) dir(lease string) string { return filepath.Join(r.o.Folder, leaseFolder, lease) }

// guestOf is what a lease has here; nil for nothing.
func (r *Runtime) guestOf(lease string) *remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.guests[lease]
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
	g := r.guestOf(spec.LeaseID)
	if g == nil {
		return runtime.Status{}, fmt.Errorf("%w: %w", runtime.ErrSpec, ErrNoGuest)
	}
	switch s, _, err := g.look(); {
	case err != nil:
		return runtime.Status{}, err
	case s.Phase != "":
		return runtime.Status{}, runtime.ErrExists
	}
	err := g.do(ctx, request{Do: doStart, Spec: &spec})
	switch {
	case errors.Is(err, ErrNoGuest) && !errors.Is(err, runtime.ErrSpec):
		return runtime.Status{}, fmt.Errorf("%w: %w", runtime.ErrSpec, err)
	case err != nil:
		return runtime.Status{}, err
	}
	return r.Status(ctx, spec.LeaseID)
}

// Status implements [runtime.Runtime]. A guest without a job is being prepared.
func (r *Runtime) Status(ctx context.Context, lease string) (runtime.Status, error) {
	g := r.guestOf(lease)
	if g == nil {
		return r.Runtime.Status(ctx, lease)
	}
	s, _, err := g.look()
	if err != nil {
		return runtime.Status{}, err
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
	if r.guestOf(lease) != nil {
		return runtime.Usage{}, fmt.Errorf("%w: what a measured guest uses is not read", runtime.ErrNotRunning)
	}
	return r.Runtime.Usage(ctx, lease)
}

// Stop implements [runtime.Runtime].
func (r *Runtime) Stop(ctx context.Context, lease string, grace time.Duration) (runtime.Status, error) {
	g := r.guestOf(lease)
	if g == nil {
		return r.Runtime.Stop(ctx, lease, grace)
	}
	if err := g.stop(ctx); err != nil {
		return runtime.Status{}, err
	}
	return r.Status(ctx, lease)
}

// Suspend implements [runtime.Runtime].
func (r *Runtime) Suspend(ctx context.Context, lease, attempt string) (runtime.Suspension, error) {
	if r.guestOf(lease) != nil {
		return runtime.Suspension{}, fmt.Errorf("%w: a container in a measured guest cannot be kept", runtime.ErrSuspend)
	}
	return r.Runtime.Suspend(ctx, lease, attempt)
}

// Extend implements [runtime.Runtime].
func (r *Runtime) Extend(ctx context.Context, lease string, left time.Duration) error {
	g := r.guestOf(lease)
	if g == nil {
		return r.Runtime.Extend(ctx, lease, left)
	}
	switch s, live, err := g.look(); {
	case err != nil:
		return err
	case s.Phase.Over(), !live:
		return runtime.ErrOver
	}
	return g.do(ctx, request{Do: doExtend, Left: left})
}

// Logs implements [runtime.Runtime]: the sealed records, in the form of control.Frames. Both outputs are in them.
func (r *Runtime) Logs(ctx context.Context, lease string, stream runtime.Stream, offset int64, follow bool) (io.ReadCloser, error) {
	g := r.guestOf(lease)
	if g == nil {
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
		s, live, err := g.look()
		return err != nil || s.Phase.Over() || !live
	}), nil
}

// Shell implements [runtime.Runtime].
func (r *Runtime) Shell(ctx context.Context, lease string, asRoot bool, setup []byte, stream io.ReadWriter) error {
	if r.guestOf(lease) != nil {
		return fmt.Errorf("%w: no shell and no ports: %w", runtime.ErrShell, errNotInGuests)
	}
	return r.Runtime.Shell(ctx, lease, asRoot, setup, stream)
}

// Remove implements [runtime.Runtime].
func (r *Runtime) Remove(ctx context.Context, lease string) error {
	g := r.guestOf(lease)
	if g == nil {
		return r.Runtime.Remove(ctx, lease)
	}
	s, _, err := g.look()
	if err != nil {
		return err
	}
	if s.Phase == runtime.Running {
		return runtime.ErrRunning
	}
	if err := g.stop(ctx); err != nil { // it boots, or waits for its job
		return err
	}
	g.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := g.remove(); err != nil {
		return err
	}
	delete(r.guests, lease)
	return nil
}
