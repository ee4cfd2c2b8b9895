package lease

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/sdk/messages"
)

// jobLine is a key that a job names.
func jobLine(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// rented runs a manager with a lease over a job until the test ends.
func rented(t *testing.T, job messages.JobSpec) (*Manager, *fakeChain) {
	t.Helper()
	m, chain := ordered(t, job)
	require.Eventually(t, func() bool { all := m.Statuses(); return len(all) == 1 && all[0].State == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
	return m, chain
}

// ordered is a manager with a lease that was awarded and has its job.
func ordered(t *testing.T, job messages.JobSpec, mod ...func(*Manager)) (*Manager, *fakeChain) {
	t.Helper()
	m, chain, rt, _ := newTestManager(t)
	for _, f := range mod {
		f(m)
	}
	m.o.Now = time.Now
	rt.prepare = func(context.Context, image.Credential) error { return nil }
	chain.clock, rt.clock = &clock{t: time.Now()}, &clock{t: time.Now()}
	var err error
	_, m.o.Identity, err = ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	<-m.Ready()
	chain.award(job, false, time.Hour, true)
	require.Eventually(t, m.Live, time.Minute, time.Millisecond)
	_, err = m.Deploy(t.Context(), testCustomer, deployRequest(job))
	require.NoError(t, err)
	return m, chain
}

// visit opens a connection; the returned channel gets its end.
func visit(t *testing.T, m *Manager, from solana.PublicKey) (setup string, ended chan error) {
	t.Helper()
	return visitBy(t, func(node net.Conn) error {
		return m.Shell(t.Context(), from, messages.ShellRequest{Lease: testLease}, func([]byte) (io.ReadWriter, error) { return node, nil })
	})
}

// visitBy opens a connection with what serves the node's end of it; the returned channel gets its end.
func visitBy(t *testing.T, serve func(node net.Conn) error) (setup string, ended chan error) {
	t.Helper()
	node, customer := net.Pipe()
	t.Cleanup(func() { node.Close(); customer.Close() })
	ended = make(chan error, 1)
	go func() {
		err := serve(node)
		node.Close()
		ended <- err
	}()
	buf := make([]byte, 4096)
	n, err := customer.Read(buf)
	if err != nil {
		return "", ended
	}
	return string(buf[:n]), ended
}

func refusedShell(t *testing.T, m *Manager, from solana.PublicKey, why string) {
	t.Helper()
	_, ended := visit(t, m, from)
	err := <-ended
	var refused *RefusedError
	require.True(t, errors.As(err, &refused), err)
	require.Contains(t, refused.Why, why)
}

func TestAContainerIsEnteredByItsCustomerOnly(t *testing.T) {
	line := jobLine(t)
	job := messages.JobSpec{Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64), SSHKeys: []string{line}}
	m, chain := rented(t, job)
	refusedShell(t, m, solana.PublicKey{99}, "of another customer")
	var open []chan error
	for range maxShells {
		setup, ended := visit(t, m, testCustomer)
		require.Contains(t, setup, strings.Fields(line)[1])
		open = append(open, ended)
	}
	refusedShell(t, m, testCustomer, "8 connections")

	chain.mu.Lock()
	chain.exists = false
	close(chain.changed)
	chain.changed = make(chan struct{})
	chain.mu.Unlock()
	for _, ended := range open {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the connection outlives its lease")
		}
	}
	refusedShell(t, m, testCustomer, "over")
}

// visitPorts opens a stream to ports.
func visitPorts(t *testing.T, m *Manager, from solana.PublicKey, ports ...uint16) (setup string, ended chan error) {
	t.Helper()
	req := messages.PortsRequest{Version: messages.Version, Lease: testLease, Ports: ports}
	return visitBy(t, func(node net.Conn) error {
		return m.Ports(t.Context(), from, req, func() (io.ReadWriter, error) { return node, nil })
	})
}

// A customer reaches the ports that it names, and needs no key to log in; nobody else does, and not beyond the lease.
func TestACustomerReachesPortsOfItsContainer(t *testing.T) {
	m, chain := rented(t, messages.JobSpec{Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64)})
	for from, why := range map[solana.PublicKey]string{{99}: "of another customer", testGateway: "of another customer"} {
		_, ended := visitPorts(t, m, from, 8080)
		var refused *RefusedError
		require.ErrorAs(t, <-ended, &refused)
		require.Contains(t, refused.Why, why)
	}
	_, ended := visitPorts(t, m, testCustomer)
	require.ErrorContains(t, <-ended, "names no port")

	var open []chan error
	for range maxShells {
		setup, ended := visitPorts(t, m, testCustomer, 8080)
		require.Contains(t, setup, `"ports":[8080]`)
		require.Contains(t, setup, `"host_key":null`, "ports give no way to log in")
		open = append(open, ended)
	}
	_, ended = visitPorts(t, m, testCustomer, 8080)
	require.ErrorContains(t, <-ended, "8 connections")
	chain.mu.Lock()
	chain.exists = false
	close(chain.changed)
	chain.changed = make(chan struct{})
	chain.mu.Unlock()
	for _, ended := range open {
		ends(t, ended)
	}
	_, ended = visitPorts(t, m, testCustomer, 8080)
	require.ErrorContains(t, <-ended, "over")
}

// Who the server in the container becomes is the customer's word; what can be no user is refused.
func TestAShellOfAUser(t *testing.T) {
	m, _ := rented(t, messages.JobSpec{Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64), SSHKeys: []string{jobLine(t)}})
	as := func(user string) (string, chan error) {
		return visitBy(t, func(node net.Conn) error {
			req := messages.ShellRequest{Version: messages.Version, Lease: testLease, User: user}
			return m.Shell(t.Context(), testCustomer, req, func([]byte) (io.ReadWriter, error) { return node, nil })
		})
	}
	setup, _ := as("root")
	require.Contains(t, setup, `"user":"root"`)
	setup, _ = as("")
	require.NotContains(t, setup, `"user"`)
	_, ended := as("-1")
	require.ErrorContains(t, <-ended, `the user "-1" cannot be`)
}

func TestWhatHasNoShell(t *testing.T) {
	m, _ := rented(t, messages.JobSpec{Version: messages.Version, Command: []string{"x"}})
	refusedShell(t, m, testCustomer, "no container")
	m, _ = rented(t, messages.JobSpec{Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64)})
	refusedShell(t, m, testCustomer, "names no SSH key")
}

func TestAJobWithAKeyThatCannotBeReadIsRefused(t *testing.T) {
	m, chain, _, _ := newTestManager(t)
	job := messages.JobSpec{Version: messages.Version, Command: []string{"x"}, SSHKeys: []string{"ssh-rsa nonsense"}}
	chain.award(job, true, time.Hour, true)
	_, err := m.Deploy(t.Context(), testCustomer, deployRequest(job))
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, "SSH key")
}
