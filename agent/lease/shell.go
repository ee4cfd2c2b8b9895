package lease

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/shell"
	"github.com/gantry-market/gantry/agent/store"
)

const (
	// maxShells is how many connections there are to one lease's container at once.
	maxShells = 8
	// shellCheck is how often it is looked up whether a connection may go on.
	shellCheck = 2 * time.Second
)

// Shell connects a lease's customer with the SSH server in the lease's container. accept is called once nothing is left
// to refuse, with the server's public key, and returns the customer's stream. Shell returns when the stream or the
// container has ended, or the caller may not act for the customer any more. Error: *RefusedError.
func (m *Manager) Shell(ctx context.Context, from solana.PublicKey, lease [32]byte, accept func(hostKey []byte) (io.ReadWriter, error)) error {
	r, err := m.reachable(ctx, from, lease)
	if err != nil {
		return err
	}
	setup, err := shell.NewSetup(m.o.Identity, lease, r.Job.SSHKeys)
	if err != nil {
		return err
	}
	public, err := setup.PublicHostKey()
	if err != nil {
		return err
	}
	line, err := setup.Line()
	if err != nil {
		return err
	}
	if !m.takeShell(r.Address) {
		return refuse("there are %d connections to this container already; end one of them", maxShells)
	}
	defer m.freeShell(r.Address)
	stream, err := accept(public)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go watchGuest(ctx, cancel, func() error {
		_, err := m.reachable(ctx, from, lease)
		return err
	})
	m.log.Info().Str("lease", keyString(r.Address)).Msg("customer connects to the container")
	return m.o.Runtime.Shell(ctx, keyString(r.Address), line, stream)
}

// reachable returns a lease whose container runs and may be entered by the caller with SSH.
func (m *Manager) reachable(ctx context.Context, from solana.PublicKey, lease [32]byte) (store.Lease, error) {
	if err := m.authorise(ctx, from, lease); err != nil {
		return store.Lease{}, err
	}
	return m.container(ctx, lease, true)
}

// container returns a lease whose container runs. withSSH: the job must name a key that may log in.
func (m *Manager) container(ctx context.Context, lease store.Key, withSSH bool) (store.Lease, error) {
	r, err := m.o.Store.Lease(lease)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return r, refuse("the lease has not started yet: its job has not arrived")
	case err != nil:
		return r, err
	case !r.State.Live():
		return r, refuse("the lease is over")
	case r.Job == nil:
		return r, refuse("the lease has not started yet: its job has not arrived")
	case r.Job.Image == "":
		return r, refuse("the lease has no container: only leases of an image have a shell")
	case withSSH && len(r.Job.SSHKeys) == 0:
		return r, refuse("the job names no SSH key, so that nobody may log in")
	}
	st, err := m.o.Runtime.Status(ctx, keyString(lease))
	switch {
	case err != nil && !errors.Is(err, runtime.ErrNotFound):
		return r, err
	case st.Phase.Over():
		return r, refuse("the job is over, and its container with it")
	case st.Phase != runtime.Running:
		return r, refuse("the container has not started yet")
	}
	return r, nil
}

func (m *Manager) takeShell(lease store.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shells[lease] >= maxShells {
		return false
	}
	m.shells[lease]++
	return true
}

func (m *Manager) freeShell(lease store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shells[lease]--; m.shells[lease] <= 0 {
		delete(m.shells, lease)
	}
}

// watchGuest ends a connection once check refuses it: the lease is over, or whoever let the caller in may not any more.
func watchGuest(ctx context.Context, end func(), check func() error) {
	tick := time.NewTicker(shellCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var refused *RefusedError
		if errors.As(check(), &refused) {
			end()
			return
		}
	}
}
