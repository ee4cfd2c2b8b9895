package guestvm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/internal/wait"
)

const (
	// poll lies between two looks whether a supervisor has ended.
	poll = 20 * time.Millisecond
	// endLimit is how long a supervisor may take to end its guest. One that takes longer is killed, and takes the guest along.
	endLimit = 30 * time.Second
	// stopLimit is that for a guest that is asked to stop. It is shorter than the time of one action of an agent, so that the supervisor is
	// killed within that.
	stopLimit = 10 * time.Second
)

// remote is a lease's guest as an agent sees it: what is in its folder, and what its supervisor answers. Several agents, one after the
// other, see the same.
type remote struct {
	lease, dir string

	mu     sync.Mutex
	client *control.Client // a session with the guest, by its supervisor
}

// supervised reports whether the supervisor lives.
func (g *remote) supervised() bool { return runtime.Locked(filepath.Join(g.dir, lockFile)) }

// look returns the job's state; the zero one before it was started. live says whether the supervisor lives. A job whose supervisor was
// killed is lost, and what is left of its guest ends.
func (g *remote) look() (s state, live bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// The order matters: a supervisor that has gone before the state is read has written its last one.
	live = g.supervised()
	err = readFile(g.dir, stateFile, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, live, nil
	}
	if err != nil || live || s.Phase.Over() {
		return s, live, err
	}
	return s, false, errors.Join(g.sweep(), s.lost(g.dir))
}

// sweep ends what a supervisor that was killed has left. The kernel has ended its processes with it; that is made sure of.
func (g *remote) sweep() error {
	var r runRecord
	if err := readFile(g.dir, runFile, &r); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it had started nothing
		}
		return err
	}
	for _, p := range []runtime.ProcID{r.QEMU, r.TPM} {
		if err := p.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		for end := time.Now().Add(endLimit); p.Alive() && time.Now().Before(end); time.Sleep(poll) {
		}
	}
	if r.Folder != "" {
		if err := os.RemoveAll(r.Folder); err != nil {
			return fmt.Errorf("files of a guest: %w", err)
		}
	}
	var p plan
	switch err := readFile(g.dir, planFile, &p); {
	case errors.Is(err, fs.ErrNotExist): // an agent was killed while it removed the folder
		return nil
	case err != nil || p.Network == nil:
		return err
	}
	return p.Network.Detach(g.lease)
}

// remove forgets a guest whose supervisor has gone.
func (g *remote) remove() error {
	if err := g.sweep(); err != nil {
		return err
	}
	if err := os.RemoveAll(g.dir); err != nil {
		return fmt.Errorf("folder of a guest: %w", err)
	}
	return nil
}

// do has the supervisor do something. Errors: ErrBoots, ErrNoGuest where there is none, the supervisor's.
func (g *remote) do(ctx context.Context, q request) error {
	err := do(ctx, g.dir, q)
	if errors.Is(err, errAway) {
		if g.supervised() {
			return fmt.Errorf("%w: %w", ErrBoots, err)
		}
		return ErrNoGuest
	}
	return err
}

// session returns how to ask the guest. Errors: ErrBoots, ErrHasJob, ErrNoGuest, why the guest did not boot.
func (g *remote) session(ctx context.Context) (c *control.Client, fresh bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var f failure
	switch err := readFile(g.dir, failureFile, &f); {
	case err == nil:
		return nil, false, errors.New(f.Why)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	if _, err := os.Stat(filepath.Join(g.dir, stateFile)); err == nil {
		return nil, false, ErrHasJob
	}
	if g.client != nil {
		select {
		case <-g.client.Closed():
		default:
			return g.client, false, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	port, err := ask(ctx, g.dir, request{Do: doAsk})
	if err == nil {
		g.client, err = control.NewClient(ctx, port)
	}
	var said *remoteError
	switch {
	case err == nil:
		return g.client, true, nil
	case errors.As(err, &said):
		return nil, false, err
	case g.supervised(): // it listens later, or is slow
		return nil, false, fmt.Errorf("%w: %w", ErrBoots, err)
	case errors.Is(err, errAway):
		return nil, false, ErrNoGuest
	}
	return nil, false, err
}

// stop ends the guest, and waits for its supervisor's end.
func (g *remote) stop(ctx context.Context) error {
	for end := time.Now().Add(stopLimit); g.supervised(); {
		if time.Now().After(end) {
			return g.kill()
		}
		limited, cancel := context.WithDeadline(ctx, end)
		_ = do(limited, g.dir, request{Do: doStop}) // again while it does not listen yet
		cancel()
		if err := wait.For(ctx, poll); err != nil {
			return err
		}
	}
	return nil
}

// kill ends a supervisor that does not end its guest, and the guest with it.
func (g *remote) kill() error {
	var r runRecord
	if err := readFile(g.dir, runFile, &r); err != nil {
		return err
	}
	if err := r.Supervisor.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	for end := time.Now().Add(endLimit); g.supervised(); time.Sleep(poll) {
		if time.Now().After(end) {
			return fmt.Errorf("the supervisor of the guest of lease %s (process %d) does not end: restart this machine", g.lease, r.Supervisor.PID)
		}
	}
	return g.sweep()
}

// close ends the session. The guest goes on.
func (g *remote) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.client != nil {
		_ = g.client.Close()
		g.client = nil
	}
}

// begin has a supervisor boot a guest.
func (g *remote) begin(o Options, share Share, spawn func(dir string, lock *os.File) error) (err error) {
	p := plan{Lease: g.lease, Settings: o.Settings, Folder: o.Folder, Share: share}
	if o.Network != nil {
		var n network.Plan
		if n, err = o.Network(); err != nil {
			return err
		}
		p.Network = &n
	}
	for _, path := range []*string{&p.Folder, &p.Settings.Image, &p.Settings.Firmware} { // the supervisor is in another folder
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("files of a guest: %w", err)
		}
	}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return fmt.Errorf("folder of a guest: %w", err)
	}
	lock, free, err := runtime.TakeLock(filepath.Join(g.dir, lockFile))
	if err == nil && !free {
		err = fmt.Errorf("the guest of lease %s has a supervisor already", g.lease)
	}
	if err != nil {
		return err
	}
	defer lock.Close() // the supervisor has it as well
	if err = writeFile(g.dir, planFile, p); err == nil {
		err = spawn(g.dir, lock)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(g.dir))
	}
	return nil
}
