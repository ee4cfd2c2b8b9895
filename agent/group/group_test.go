package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// world is a set of machines that reach each other as libp2p would connect them: a machine that says hello is known by its
// key, and its packets come from loopback.
type world struct {
	mu       sync.Mutex
	machines map[solana.PublicKey]*machine
}

// machine has one lease, whose namespace a sleeping process holds.
type machine struct {
	w    *world
	key  solana.PublicKey
	port mesh.Port
	pid  int

	mu       sync.Mutex
	customer solana.PublicKey // zero: nobody
	member   lease.Member
	groups   *Manager
}

func (w *world) machine(t testing.TB) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: network namespaces need root")
	}
	m := &machine{w: w, key: newKey(t)}
	m.member = lease.Member{Lease: newKey(t), Stage: lease.Runs}
	sleep := exec.Command("sleep", "600")
	sleep.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	require.NoError(t, sleep.Start())
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	m.pid = sleep.Process.Pid
	w.mu.Lock()
	w.machines[m.key] = m
	w.mu.Unlock()
	running(t, func(ctx context.Context) error { return m.port.Serve(ctx, netip.MustParseAddrPort("127.0.0.1:0")) })
	require.Eventually(t, func() bool { return m.port.Number() != 0 }, time.Minute, time.Millisecond)
	return m
}

func newKey(t testing.TB) solana.PublicKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k.PublicKey()
}

// running runs f until the returned function is called, or the test ends.
func running(t testing.TB, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// agent starts the machine's manager, as a process that starts again does.
func (m *machine) agent(t testing.TB) (stop func()) {
	t.Helper()
	g := New(Options{
		Port: &m.port, Net: m, Log: zerolog.Nop(),
		Members: func() ([]lease.Member, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return []lease.Member{m.member}, nil
		},
		Visits: func(_ context.Context, from, l solana.PublicKey) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			if from != m.customer || l != m.member.Lease {
				return &lease.RefusedError{Why: "the lease is of another customer"}
			}
			return nil
		},
		Open: func(string) (int, error) { return network.OpenGroup(m.pid, mesh.Interface) },
	})
	m.mu.Lock()
	m.groups = g
	m.mu.Unlock()
	return running(t, g.Run)
}

// Hello implements Net.
func (m *machine) Hello(_ context.Context, node solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error) {
	m.w.mu.Lock()
	other := m.w.machines[node]
	m.w.mu.Unlock()
	if other == nil {
		return messages.GroupHelloAnswer{}, errors.New("no such machine")
	}
	other.mu.Lock()
	groups := other.groups
	other.mu.Unlock()
	if groups == nil {
		return messages.GroupHelloAnswer{}, errors.New("no agent")
	}
	return groups.Hello(m.key, req)
}

// Direct implements Net: the machine is connected over TCP.
func (m *machine) Direct(solana.PublicKey) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), 0)
}

// group gives machines a group, in their order, and containers their interfaces.
func group(t testing.TB, machines ...*machine) {
	t.Helper()
	members := make([]messages.GroupMember, len(machines))
	for i, m := range machines {
		members[i] = messages.GroupMember{Lease: m.member.Lease, Node: m.key}
	}
	for i, m := range machines {
		m.mu.Lock()
		m.member.Group = messages.Group{Index: uint8(i), Members: members}
		m.mu.Unlock()
	}
}

func (m *machine) connect(t testing.TB, index int) {
	t.Helper()
	require.NoError(t, network.AddGroup(m.pid, network.Group{Interface: mesh.Interface, Addr: mesh.Address(index), Range: mesh.Range, MTU: mesh.MTU}))
}

// inside runs f in the machine's lease.
func (m *machine) inside(t testing.TB, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
		ns, err := netns.GetFromPid(m.pid)
		if err == nil {
			err = errors.Join(netns.Set(ns), ns.Close())
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

// site answers HTTP in the machine's lease.
func (m *machine) site(t testing.TB, name string) {
	t.Helper()
	var l net.Listener
	var err error
	m.inside(t, func() { l, err = net.Listen("tcp4", ":8080") })
	require.NoError(t, err)
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, name)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
}

// get asks a member from the machine's lease.
func (m *machine) get(t testing.TB, index int, within time.Duration) (body string, err error) {
	t.Helper()
	m.inside(t, func() {
		var c net.Conn
		// The dialler resolves and connects on this thread: the address is a number.
		d := net.Dialer{Timeout: within}
		if c, err = d.Dial("tcp4", mesh.Address(index).String()+":8080"); err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(within))
		if _, err = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			return
		}
		var all []byte
		all, err = io.ReadAll(c)
		body = string(all)
	})
	return body, err
}

func (m *machine) reaches(t testing.TB, index int, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		body, err := m.get(t, index, time.Second)
		return err == nil && len(body) > len(name) && body[len(body)-len(name):] == name
	}, 30*time.Second, 50*time.Millisecond, "member %d", index)
}

func TestMembersMeet(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, b, c := w.machine(t), w.machine(t), w.machine(t)
	group(t, a, b, c)
	names := []string{"a", "b", "c"}
	for i, m := range []*machine{a, b, c} {
		m.connect(t, i)
		m.site(t, names[i])
		m.agent(t)
	}
	for _, m := range []*machine{a, b, c} {
		for i, name := range names {
			m.reaches(t, i, name)
		}
	}
}

// pair is a group of two machines with their interfaces, the second with a site of the name b.
func pair(t *testing.T) (a, b *machine) {
	t.Helper()
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, b = w.machine(t), w.machine(t)
	group(t, a, b)
	a.connect(t, 0)
	b.connect(t, 1)
	b.site(t, "b")
	return a, b
}

func TestAnAgentThatStartsAgainIsFound(t *testing.T) {
	a, b := pair(t)
	a.agent(t)
	stop := b.agent(t)
	a.reaches(t, 1, "b")
	stop()
	_, err := a.get(t, 1, time.Second)
	require.Error(t, err, "nobody has the interface open")
	b.agent(t)
	a.reaches(t, 1, "b")
}

func TestAMemberThatWasReplacedIsLockedOut(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, former, next := w.machine(t), w.machine(t), w.machine(t)
	group(t, a, former)
	a.connect(t, 0)
	a.site(t, "a")
	former.connect(t, 1)
	former.site(t, "former")
	a.agent(t)
	former.agent(t)
	former.reaches(t, 0, "a")
	a.reaches(t, 1, "former")

	group(t, a, next) // former has not heard of it
	next.connect(t, 1)
	next.site(t, "next")
	next.agent(t)
	a.reaches(t, 1, "next")
	_, err := former.get(t, 0, 2*time.Second)
	require.Error(t, err)
	a.reaches(t, 1, "next")
	next.reaches(t, 0, "a")
}

func TestOnlyTheMachineOfAMemberIsAnswered(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, b := w.machine(t), w.machine(t)
	group(t, a, b)
	a.connect(t, 0)
	a.agent(t)
	hello := messages.GroupHelloRequest{Version: messages.Version, From: b.member.Lease, To: a.member.Lease, Key: [32]byte{1}}
	var ans messages.GroupHelloAnswer
	require.Eventually(t, func() bool {
		var err error
		ans, err = a.groups.Hello(b.key, hello)
		require.NoError(t, err)
		return ans.Refused == ""
	}, time.Minute, 10*time.Millisecond)
	require.NotZero(t, ans.Key)
	require.True(t, a.groups.Knows(b.key))

	stranger := newKey(t)
	require.False(t, a.groups.Knows(stranger))
	for name, from := range map[string]struct {
		key solana.PublicKey
		req messages.GroupHelloRequest
	}{
		"another machine with a member's lease": {stranger, hello},
		"a member's machine with another lease": {b.key, messages.GroupHelloRequest{Version: messages.Version, From: newKey(t), To: a.member.Lease}},
		"the lease itself":                      {a.key, messages.GroupHelloRequest{Version: messages.Version, From: a.member.Lease, To: a.member.Lease}},
		"a lease that is not here":              {b.key, messages.GroupHelloRequest{Version: messages.Version, From: b.member.Lease, To: newKey(t)}},
	} {
		t.Run(name, func(t *testing.T) {
			ans, err := a.groups.Hello(from.key, from.req)
			require.NoError(t, err)
			require.NotEmpty(t, ans.Refused)
			require.Zero(t, ans.Key)
		})
	}
}
