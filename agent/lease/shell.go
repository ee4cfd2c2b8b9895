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
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
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
func (m *Manager) Shell(ctx context.Context, from solana.PublicKey, req messages.ShellRequest, accept func(hostKey []byte) (io.ReadWriter, error)) error {
	if err := jobspec.CheckUser(req.User, jobspec.User); err != nil {
		return refuse("%v", err)
	}
	r, err := m.reachable(ctx, from, req.Lease, true)
	if err != nil {
		return err
	}
	setup, err := shell.NewSetup(m.o.Identity, req.Lease, r.Job.SSHKeys)
	if err != nil {
		return err
	}
	setup.User = req.User
	public, err := setup.PublicHostKey()
	if err != nil {
		return err
	}
	return m.visit(ctx, from, r.Address, setup, func() (io.ReadWriter, error) { return accept(public) })
}

// Ports connects a lease's customer with ports of the lease's container, as [Manager.Shell] does with its SSH server. No key
// has to log in: whoever acts for the customer may grant the ports to any gateway too.
func (m *Manager) Ports(ctx context.Context, from solana.PublicKey, req messages.PortsRequest, accept func() (io.ReadWriter, error)) error {
	if len(req.Ports) == 0 {
		return refuse("the request names no port")
	}
	r, err := m.reachable(ctx, from, req.Lease, false)
	if err != nil {
		return err
	}
	return m.visit(ctx, from, r.Address, shell.Setup{Ports: req.Ports}, accept)
}

// visit gives a customer's stream to what a setup asks for in the container, as long as the customer may.
func (m *Manager) visit(ctx context.Context, from solana.PublicKey, lease store.Key, setup shell.Setup, accept func() (io.ReadWriter, error)) error {
	line, err := setup.Line()
	if err != nil {
		return err
	}
	if !m.takeShell(lease) {
		return refuse("there are %d connections to this container already; end one of them", maxShells)
	}
	defer m.freeShell(lease)
	stream, err := accept()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go watchGuest(ctx, cancel, func() error {
		_, err := m.reachable(ctx, from, lease, len(setup.Ports) == 0)
		return err
	})
	m.log.Info().Str("lease", keyString(lease)).Uints16("ports", setup.Ports).Msg("customer connects to the container")
	return m.o.Runtime.Shell(ctx, keyString(lease), setup.User != "", line, stream)
}

// reachable returns a lease whose container runs and may be entered by the caller.
func (m *Manager) reachable(ctx context.Context, from solana.PublicKey, lease [32]byte, withSSH bool) (store.Lease, error) {
	if err := m.authorise(ctx, from, lease); err != nil {
		return store.Lease{}, err
	}
	return m.container(ctx, lease, withSSH)
}

// container returns a lease whose container runs. withSSH: the job must name a key that may log in.
func (m *Manager) container(ctx context.Context, lease store.Key, withSSH bool) (store.Lease, error) {
	r, err := m.o.Store.Lease(lease)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return r, refuse(messages.JobMissing)
	case err != nil:
		return r, err
	case !r.State.Live():
		return r, refuse(messages.LeaseOver)
	case r.Job == nil:
		return r, refuse(messages.JobMissing)
	case r.Job.Image == "":
		return r, refuse("the lease has no container: only leases of an image have a shell")
	case withSSH && len(r.Job.SSHKeys) == 0:
		return r, refuse("the job names no SSH key, and nobody may log in")
	}
	st, err := m.o.Runtime.Status(ctx, keyString(lease))
	switch {
	case err != nil && !errors.Is(err, runtime.ErrNotFound):
		return r, err
	case st.Phase.Over():
		return r, refuse("the job is over, and its container with it")
	case st.Phase != runtime.Running:
		return r, refuse(messages.ContainerStarts)
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

// watchGuest ends a connection once check refuses it: the lease is over, or the grant by which the caller came in is void.
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
