package mesh_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var echo = p2p.Protocol{ID: "/gantry/test-echo/1", MaxRequest: 1 << 10, MaxResponse: 1 << 10, Rate: 1000, Burst: 1000, Timeout: 2 * time.Second}

type text struct {
	Text string `cbor:"1,keyasint"`
}

// machine is a libp2p node on QUIC alone, whose port devices share.
type machine struct {
	port *mesh.Port
	node *p2p.Node
}

func newMachine(t testing.TB) machine {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	port := &mesh.Port{}
	node, err := p2p.New(p2p.Options{Key: key, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, ListenUDP: port.ListenUDP, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	p2p.Handle(node, echo, func(_ context.Context, _ solana.PublicKey, r text) (text, error) { return r, nil })
	return machine{port: port, node: node}
}

// udp is the address of the machine's QUIC port.
func (m machine) udp(t testing.TB) netip.AddrPort {
	t.Helper()
	for _, a := range m.node.Host().Addrs() {
		if rest, ok := strings.CutPrefix(a.String(), "/ip4/127.0.0.1/udp/"); ok {
			port, _, _ := strings.Cut(rest, "/")
			addr, err := netip.ParseAddrPort("127.0.0.1:" + port)
			require.NoError(t, err)
			return addr
		}
	}
	t.Fatal("the machine does not listen on QUIC")
	return netip.AddrPort{}
}

// member is one end of a group's network, with a network stack of its own in place of an interface.
type member struct {
	machine
	device *mesh.Device
	addr   netip.Addr
	net    *netstack.Net
}

func join(t testing.TB, m machine, addr string) member {
	t.Helper()
	a := netip.MustParseAddr(addr)
	link, stack, err := netstack.CreateNetTUN([]netip.Addr{a}, nil, mesh.MTU)
	require.NoError(t, err)
	key, err := mesh.NewPrivateKey()
	require.NoError(t, err)
	d, err := m.port.Open(link, key, zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return member{machine: m, device: d, addr: a, net: stack}
}

func (m member) peer(t testing.TB) mesh.Peer {
	return mesh.Peer{Key: m.device.Public(), Allowed: []netip.Prefix{netip.PrefixFrom(m.addr, 32)}, Endpoint: m.udp(t)}
}

// group tells each member of the others. The last ones begin, when the others know them.
func group(t testing.TB, members ...member) {
	t.Helper()
	for i, m := range members {
		var others []mesh.Peer
		for j, o := range members {
			if i != j {
				p := o.peer(t)
				if i < j {
					p.Endpoint = netip.AddrPort{}
				}
				others = append(others, p)
			}
		}
		require.NoError(t, m.device.SetPeers(others))
	}
}

// serve answers HTTP at a member's address with its name.
func (m member) serve(t testing.TB, name string) {
	t.Helper()
	l, err := m.net.ListenTCP(&net.TCPAddr{Port: 80})
	require.NoError(t, err)
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s to %s", name, r.RemoteAddr)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
}

func (m member) get(t testing.TB, to netip.Addr, within time.Duration) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := http.Client{Transport: &http.Transport{DialContext: m.net.DialContext, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+to.String(), nil)
	require.NoError(t, err)
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

func TestMembersReachEachOtherOverThePortOfQUIC(t *testing.T) {
	a, b, c := join(t, newMachine(t), "10.77.0.1"), join(t, newMachine(t), "10.77.0.2"), join(t, newMachine(t), "10.77.0.3")
	group(t, a, b, c)
	b.serve(t, "b")
	c.serve(t, "c")

	require.NoError(t, a.node.Remember(b.node.Self()))
	var quic sync.WaitGroup // uses the same sockets at the same time
	for range 4 {
		quic.Go(func() {
			for i := range 50 {
				got, err := p2p.Call[text, text](t.Context(), a.node, b.node.Key(), echo, text{Text: fmt.Sprint(i)})
				if err != nil || got.Text != fmt.Sprint(i) {
					t.Errorf("call %d over QUIC: %q, %v", i, got.Text, err)
					return
				}
			}
		})
	}
	for range 20 {
		got, err := a.get(t, b.addr, 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, got, "b to 10.77.0.1:")
		got, err = b.get(t, c.addr, 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, got, "c to 10.77.0.2:")
	}
	quic.Wait()

	sessions, err := b.device.Sessions()
	require.NoError(t, err)
	require.Len(t, sessions, 2)
	for _, s := range sessions {
		require.WithinDuration(t, time.Now(), s.Handshake, time.Minute)
		require.NotZero(t, s.Received)
		require.NotZero(t, s.Sent)
	}
	for _, m := range []member{a, b, c} {
		require.Zero(t, m.port.Foreign())
	}
}

func TestGroupsOfOneMachineAreApart(t *testing.T) {
	m, n := newMachine(t), newMachine(t)
	red, blue := join(t, m, "10.77.0.1"), join(t, m, "10.77.0.1")
	redPeer, bluePeer := join(t, n, "10.77.0.2"), join(t, n, "10.77.0.2")
	group(t, red, redPeer)
	group(t, blue, bluePeer)
	redPeer.serve(t, "red")
	bluePeer.serve(t, "blue")
	for range 5 {
		got, err := red.get(t, redPeer.addr, 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, got, "red to ")
		got, err = blue.get(t, bluePeer.addr, 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, got, "blue to ")
	}
}

func TestAStrangerReachesNoMember(t *testing.T) {
	a, b := join(t, newMachine(t), "10.77.0.1"), join(t, newMachine(t), "10.77.0.2")
	group(t, a, b)
	b.serve(t, "b")
	_, err := a.get(t, b.addr, 10*time.Second)
	require.NoError(t, err)

	// It knows the member's key, port and address, and is not a peer.
	stranger := join(t, newMachine(t), "10.77.0.3")
	require.NoError(t, stranger.device.SetPeers([]mesh.Peer{b.peer(t)}))
	_, err = stranger.get(t, b.addr, 2*time.Second)
	require.Error(t, err)

	// A peer that is removed has no way in either, though its session was open.
	require.NoError(t, b.device.SetPeers(nil))
	_, err = a.get(t, b.addr, 2*time.Second)
	require.Error(t, err)
	sessions, err := b.device.Sessions()
	require.NoError(t, err)
	require.Empty(t, sessions)

	group(t, a, b)
	_, err = a.get(t, b.addr, 10*time.Second)
	require.NoError(t, err)
}

func TestForeignPacketsAreDropped(t *testing.T) {
	m := newMachine(t)
	a, b := join(t, m, "10.77.0.1"), join(t, newMachine(t), "10.77.0.2")
	group(t, a, b)
	a.serve(t, "a")
	_, err := b.get(t, a.addr, 10*time.Second)
	require.NoError(t, err)

	c, err := net.Dial("udp", m.udp(t).String())
	require.NoError(t, err)
	defer c.Close()
	sent := 0
	for _, length := range []int{1, 4, 31, 32, 64, 92, 148, 149, 1400} {
		for kind := range byte(64) { // all that QUIC is not
			packet := make([]byte, length)
			packet[0] = kind
			_, err := c.Write(packet)
			require.NoError(t, err)
			sent++
		}
		got, err := b.get(t, a.addr, 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, got, "a to ")
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.EqualValues(c, sent, m.port.Foreign()) }, time.Minute, 20*time.Millisecond)
}

// A node that speaks no QUIC has one socket of the port's own.
func TestANodeWithoutQUICReachesAddressesOfIPv4(t *testing.T) {
	port := &mesh.Port{}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- port.Serve(ctx, netip.MustParseAddrPort("0.0.0.0:0")) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-served) })
	require.Eventually(t, func() bool { return port.Number() != 0 }, time.Minute, time.Millisecond)

	a, b := join(t, machine{port: port}, "10.77.0.1"), join(t, newMachine(t), "10.77.0.2")
	b.serve(t, "b")
	require.NoError(t, b.device.SetPeers([]mesh.Peer{{Key: a.device.Public(), Allowed: []netip.Prefix{netip.PrefixFrom(a.addr, 32)}}}))
	require.NoError(t, a.device.SetPeers([]mesh.Peer{b.peer(t)}))
	got, err := a.get(t, b.addr, 10*time.Second)
	require.NoError(t, err)
	require.Contains(t, got, "b to 10.77.0.1:")
}
