package vpn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// world are the machines of a cluster. A computer reaches them as libp2p would connect it.
type world struct {
	t *testing.T

	mu      sync.Mutex
	members []*member
	current []Member // as the customer sees them; a place may be unknown
}

// member is a real end of WireGuard with a network stack and a site.
type member struct {
	Member
	place  int
	port   mesh.Port
	device *mesh.Device

	mu      sync.Mutex
	visitor messages.GroupVisitRequest
	lies    func(*messages.GroupVisitAnswer) // set by says
	silent  bool                             // to ports that it has not been told
}

// says makes a machine hostile: lies changes each of its answers.
func (m *member) says(lies func(*messages.GroupVisitAnswer)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lies = lies
}

func newWorld(t *testing.T, members int) *world {
	w := &world{t: t}
	for i := range members {
		w.add(i, i)
	}
	return w
}

func newKey(t *testing.T) solana.PublicKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k.PublicKey()
}

// running runs f until the test ends.
func running(t *testing.T, f func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func served(t *testing.T, p *mesh.Port) {
	t.Helper()
	running(t, func(ctx context.Context) error { return p.Serve(ctx, netip.MustParseAddrPort("127.0.0.1:0")) })
	require.Eventually(t, func() bool { return p.Number() != 0 }, time.Minute, time.Millisecond)
}

// add adds a machine that serves HTTP with its name at a place. told is the place that the customer knows.
func (w *world) add(place, told int) *member {
	t := w.t
	m := &member{Member: Member{Lease: newKey(t), Node: newKey(t), Place: told}, place: place}
	served(t, &m.port)
	link, stack, err := netstack.CreateNetTUN([]netip.Addr{mesh.Address(place)}, nil, mesh.MTU)
	require.NoError(t, err)
	key, err := mesh.NewPrivateKey()
	require.NoError(t, err)
	m.device, err = m.port.Open(link, key, zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(m.device.Close)
	l, err := stack.ListenTCP(&net.TCPAddr{Port: 8080})
	require.NoError(t, err)
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintf(rw, "%s to %s%s", mesh.Name(place), host, r.URL.Path)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members, w.current = append(w.members, m), append(w.current, m.Member)
	return m
}

func (w *world) end(m *member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = slices.DeleteFunc(w.current, func(o Member) bool { return o == m.Member })
}

// Visit implements Machines as an agent does.
func (w *world) Visit(_ context.Context, node solana.PublicKey, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members {
		if m.Node == node && m.Lease == solana.PublicKey(req.Lease) {
			return m.visit(req, len(w.members))
		}
	}
	return messages.GroupVisitAnswer{}, errors.New("no such machine")
}

func (m *member) visit(req messages.GroupVisitRequest, size int) (messages.GroupVisitAnswer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.visitor.Key != [32]byte{} && m.visitor.Key != req.Key && !req.Begin {
		return messages.GroupVisitAnswer{Taken: true, Refused: "taken"}, nil
	}
	m.visitor = req
	at := mesh.Visitor
	if req.Kept {
		at = mesh.KeptVisitor
	}
	if err := m.device.SetPeers([]mesh.Peer{{Key: req.Key, Allowed: []netip.Prefix{netip.PrefixFrom(at, 32)}}}); err != nil {
		return messages.GroupVisitAnswer{}, err
	}
	a := messages.GroupVisitAnswer{Key: m.device.Public(), Port: m.port.Number(), Index: uint8(m.place), Members: uint8(size)}
	if m.silent {
		a.Port = 9 // as a router would lose what comes to it
	}
	if m.lies != nil {
		m.lies(&a)
	}
	return a, nil
}

// Direct implements Machines: the machines are connected over TCP.
func (w *world) Direct(solana.PublicKey) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), 0)
}

func (w *world) options() Options {
	return Options{Machines: w, Log: zerolog.Nop(), Say: w.t.Logf, Members: func() ([]Member, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.current), nil
	}}
}

// join joins with a network stack, until stop is called.
func (w *world) join(t *testing.T) (c *Computer, dial Dial, stop func() error) {
	t.Helper()
	c, dial = w.computer(t)
	return c, dial, running(t, c.Run)
}

// computer is one that joins when it runs.
func (w *world) computer(t *testing.T) (c *Computer, dial Dial) {
	t.Helper()
	var port mesh.Port
	served(t, &port)
	stack, link, err := NewStack(mesh.Visitor)
	require.NoError(t, err)
	c, err = Join(&port, link, w.options())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, stack.Dial(c)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// get asks for an address by a transport.
func get(t *testing.T, tr *http.Transport, address string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tr.DisableKeepAlives = true
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	res, err := (&http.Client{Transport: tr}).Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", res.Status, b)
	}
	return string(b), err
}

func proxied(t *testing.T, proxy string) *http.Transport {
	t.Helper()
	u, err := url.Parse(proxy)
	require.NoError(t, err)
	return &http.Transport{Proxy: http.ProxyURL(u)}
}

func places(t *testing.T, c *Computer, want ...int) {
	t.Helper()
	require.Eventually(t, func() bool { return slices.Equal(c.Places(), want) }, time.Minute, 10*time.Millisecond, "places")
}

func TestProgramsReachMembersByName(t *testing.T) {
	w := newWorld(t, 2)
	c, dial, _ := w.join(t)
	places(t, c, 0, 1)
	l := listen(t)
	running(t, func(ctx context.Context) error { return NewProxy(dial).Serve(ctx, l) })
	proxy := l.Addr().String()
	for i := range 2 {
		want := fmt.Sprintf("node-%d to %s/x", i, mesh.Visitor)
		for _, host := range []string{mesh.Name(i), mesh.Address(i).String()} {
			for _, scheme := range []string{"http", "socks5h"} {
				got, err := get(t, proxied(t, scheme+"://"+proxy), fmt.Sprintf("http://%s:8080/x", host))
				require.NoError(t, err, "%s to %s", scheme, host)
				require.Equal(t, want, got)
			}
		}
		f := listen(t)
		running(t, func(ctx context.Context) error {
			return Forward(ctx, f, dial, fmt.Sprintf("node-%d:8080", i), func(err error) { t.Error(err) })
		})
		got, err := get(t, &http.Transport{}, "http://"+f.Addr().String()+"/x")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	// CONNECT, as programs use it for TLS.
	conn, err := net.Dial("tcp", proxy)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, "CONNECT node-1:8080 HTTP/1.1\r\nHost: node-1:8080\r\n\r\n")
	require.NoError(t, err)
	through := bufio.NewReader(conn)
	first, err := through.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, first, "200 Connection established")
	_, err = io.WriteString(conn, "GET /y HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	all, err := io.ReadAll(through)
	require.NoError(t, err)
	require.Contains(t, string(all), "node-1 to "+mesh.Visitor.String()+"/y")
}

// The proxy leads to the network's members alone, and answers nothing that a page of a browser could ask it.
func TestTheProxyLeadsNowhereElse(t *testing.T) {
	w := newWorld(t, 1)
	c, dial, _ := w.join(t)
	places(t, c, 0)
	l, other := listen(t), listen(t)
	running(t, func(ctx context.Context) error { return NewProxy(dial).Serve(ctx, l) })
	t.Cleanup(func() { _ = other.Close() })
	for _, target := range []string{other.Addr().String(), "localhost:80", "node-1:8080", "node-00:8080", mesh.Visitor.String() + ":80", "10.77.1.1:80"} {
		for _, scheme := range []string{"http", "socks5h"} {
			_, err := get(t, proxied(t, scheme+"://"+l.Addr().String()), "http://"+target+"/")
			require.Error(t, err, "%s to %s", scheme, target)
		}
	}
	_, err := get(t, &http.Transport{}, "http://"+l.Addr().String()+"/")
	require.ErrorContains(t, err, "400")
}

func TestAMemberThatIsReplacedKeepsItsName(t *testing.T) {
	w := newWorld(t, 2)
	c, dial, _ := w.join(t)
	places(t, c, 0, 1)
	former := w.members[1]
	w.end(former)
	places(t, c, 0)
	w.add(1, 1)
	places(t, c, 0, 1)
	conn, err := dial(t.Context(), "node-1:8080")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// Without the purchase's record the machines say their places.
func TestMachinesSayTheirPlaces(t *testing.T) {
	w := newWorld(t, 0)
	w.add(1, -1)
	w.add(0, -1)
	liar := w.add(2, -1)
	liar.says(func(a *messages.GroupVisitAnswer) { a.Index = 0 }) // has to wait for the first one to be heard
	w.end(liar)
	c, dial, _ := w.join(t)
	places(t, c, 0, 1)
	w.mu.Lock()
	w.current = append(w.current, liar.Member)
	w.mu.Unlock()
	time.Sleep(2 * lookEvery)
	require.Equal(t, []int{0, 1}, c.Places())
	tr := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) }}
	got, err := get(t, tr, "http://node-0:8080/")
	require.NoError(t, err)
	require.Contains(t, got, "node-0 to ")
}

// A machine that names another member's key, or this computer's, takes nothing away.
func TestAMachineThatNamesAnotherKeyIsLeftOut(t *testing.T) {
	w := newWorld(t, 1)
	c, _, _ := w.join(t)
	places(t, c, 0)
	for _, key := range []mesh.Key{w.members[0].device.Public(), c.device.Public()} {
		answer := messages.GroupVisitAnswer{Key: key, Port: 1, Index: 1, Members: 2}
		require.ErrorIs(t, c.learn(t.Context(), Member{Lease: newKey(t), Place: 1}, answer), ErrPlace)
	}
	require.Equal(t, []int{0}, c.Places())
}

func TestAnotherComputerTakesThePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	former, _ := w.computer(t)
	ended := make(chan error, 1)
	go func() { ended <- former.Run(t.Context()) }()
	places(t, former, 0, 1)
	next, _, _ := w.join(t)
	places(t, next, 0, 1)
	require.ErrorIs(t, <-ended, ErrTaken)
	require.Empty(t, former.Places())

	// One machine alone can say so without being believed.
	w.members[0].says(func(a *messages.GroupVisitAnswer) {
		*a = messages.GroupVisitAnswer{Taken: true, Refused: "another one"}
	})
	third, _, stop := w.join(t)
	places(t, third, 1)
	time.Sleep(2 * lookEvery)
	require.ErrorIs(t, stop(), context.Canceled)
}
