package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// computer is a computer of the customer's, with a network stack in place of an interface.
type computer struct {
	key    solana.PublicKey // as which it asks
	device *mesh.Device
	net    *netstack.Net
}

// newComputer has a WireGuard device that shares the port of a customer's program.
func newComputer(t *testing.T, key solana.PublicKey, at netip.Addr) *computer {
	t.Helper()
	var port mesh.Port
	running(t, func(ctx context.Context) error { return port.Serve(ctx, netip.MustParseAddrPort("127.0.0.1:0")) })
	require.Eventually(t, func() bool { return port.Number() != 0 }, time.Minute, time.Millisecond)
	link, stack, err := netstack.CreateNetTUN([]netip.Addr{at}, nil, mesh.MTU)
	require.NoError(t, err)
	private, err := mesh.NewPrivateKey()
	require.NoError(t, err)
	d, err := port.Open(link, private, zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return &computer{key: key, device: d, net: stack}
}

// visit asks a member's manager as its agent does, which looks first whether the caller may.
func (m *machine) visit(from solana.PublicKey, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error) {
	if err := m.groups.o.Visits(context.Background(), from, req.Lease); err != nil {
		return messages.GroupVisitAnswer{Version: messages.Version, Refused: err.Error()}, nil
	}
	return m.groups.Visit(from, req)
}

// join asks machines until they have let the computer in, and takes their keys.
func (c *computer) join(t *testing.T, kept bool, machines ...*machine) {
	t.Helper()
	peers := make([]mesh.Peer, len(machines))
	for i, m := range machines {
		require.Eventually(t, func() bool {
			a, err := m.visit(c.key, messages.GroupVisitRequest{Version: messages.Version, Lease: m.member.Lease, Key: c.device.Public(), Kept: kept, Begin: true})
			require.NoError(t, err)
			require.False(t, a.Taken)
			at := netip.PrefixFrom(mesh.Address(int(a.Index)), 32)
			peers[i] = mesh.Peer{Key: a.Key, Allowed: []netip.Prefix{at}, Endpoint: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), a.Port)}
			require.True(t, a.Refused == "" || a.Refused == messages.NetworkStarts, a.Refused)
			return a.Refused == ""
		}, time.Minute, 10*time.Millisecond)
	}
	require.NoError(t, c.device.SetPeers(peers))
}

func (c *computer) get(t *testing.T, index int, within time.Duration) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DialContext: c.net.DialContext, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:8080/", mesh.Address(index)), nil)
	require.NoError(t, err)
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

func (c *computer) reaches(t *testing.T, index int, name string) {
	t.Helper()
	got, err := c.get(t, index, 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, name, got)
}

// visited is a group of two machines of a customer's, both with a site.
func visited(t *testing.T) (customer solana.PublicKey, a, b *machine) {
	t.Helper()
	a, b = pair(t)
	a.site(t, "a")
	customer = newKey(t)
	a.customer, b.customer = customer, customer
	a.agent(t)
	b.agent(t)
	return customer, a, b
}

func TestTheCustomersComputerJoins(t *testing.T) {
	customer, a, b := visited(t)
	c := newComputer(t, customer, mesh.Visitor)
	c.join(t, false, a, b)
	c.reaches(t, 0, "a")
	c.reaches(t, 1, "b")
	a.reaches(t, 1, "b") // the members still do

	// Another computer takes the place, and the former one is told.
	next := newComputer(t, customer, mesh.Visitor)
	next.join(t, false, a, b)
	next.reaches(t, 0, "a")
	_, err := c.get(t, 0, 2*time.Second)
	require.Error(t, err)
	again := messages.GroupVisitRequest{Version: messages.Version, Lease: a.member.Lease, Key: c.device.Public()}
	ans, err := a.visit(customer, again)
	require.NoError(t, err)
	require.True(t, ans.Taken)
	require.Zero(t, ans.Key)
	next.reaches(t, 1, "b")

	// One with a printed configuration has a place of its own.
	kept := newComputer(t, customer, mesh.KeptVisitor)
	kept.join(t, true, a, b)
	kept.reaches(t, 0, "a")
	next.reaches(t, 0, "a")
}

func TestOnlyTheCustomerJoins(t *testing.T) {
	customer, a, b := visited(t)
	c := newComputer(t, customer, mesh.Visitor)
	c.join(t, false, a, b)
	c.reaches(t, 0, "a")
	request := func(key mesh.Key) messages.GroupVisitRequest {
		return messages.GroupVisitRequest{Version: messages.Version, Lease: a.member.Lease, Key: key, Begin: true}
	}
	for name, from := range map[string]solana.PublicKey{"a stranger or another customer": newKey(t), "a member's machine": b.key, "the machine itself": a.key} {
		ans, err := a.visit(from, request(mesh.Key{1}))
		require.NoError(t, err)
		require.NotEmpty(t, ans.Refused, name)
		require.Zero(t, ans.Key, name)
	}
	ans, err := a.visit(customer, messages.GroupVisitRequest{Version: messages.Version, Lease: newKey(t), Key: mesh.Key{1}, Begin: true})
	require.NoError(t, err)
	require.NotEmpty(t, ans.Refused, "a lease of somebody else")
	ans, err = a.visit(customer, request(mesh.Key{}))
	require.NoError(t, err)
	require.NotEmpty(t, ans.Refused, "no key")

	// A stranger that knows keys, ports and the customer's address is not answered.
	stranger := newComputer(t, newKey(t), mesh.Visitor)
	sessions, err := c.device.Sessions()
	require.NoError(t, err)
	var peers []mesh.Peer
	for _, s := range sessions {
		peers = append(peers, mesh.Peer{Key: s.Key, Endpoint: s.Endpoint, Allowed: []netip.Prefix{mesh.Range}})
	}
	require.NoError(t, stranger.device.SetPeers(peers[:1]))
	_, err = stranger.get(t, 0, 2*time.Second)
	require.Error(t, err)
	c.reaches(t, 0, "a")
}

// A member names the customer's key as its own, or sends from the customer's address.
func TestAMemberIsNotTheCustomer(t *testing.T) {
	customer, a, b := visited(t)
	a.reaches(t, 1, "b")
	c := newComputer(t, customer, mesh.Visitor)
	c.join(t, false, a, b)
	c.reaches(t, 0, "a")
	hello := messages.GroupHelloRequest{Version: messages.Version, From: b.member.Lease, To: a.member.Lease, Key: c.device.Public(), Port: 1}
	e := a.groups.ends[a.member.Lease]
	require.Error(t, e.learn(messages.GroupMember{Lease: b.member.Lease, Node: b.key}, hello.Key, hello.Port))
	c.reaches(t, 0, "a")
	a.reaches(t, 1, "b")

	// It named a key before the customer's computer had it: the customer is believed.
	late := newComputer(t, customer, mesh.Visitor)
	require.NoError(t, e.learn(messages.GroupMember{Lease: b.member.Lease, Node: b.key}, late.device.Public(), 1))
	late.join(t, false, a, b)
	late.reaches(t, 0, "a")
	require.NoError(t, e.learn(messages.GroupMember{Lease: b.member.Lease, Node: b.key}, b.groups.ends[b.member.Lease].device.Public(), b.port.Number()))
	a.reaches(t, 1, "b")

	// What the member sends from the customer's address is dropped: WireGuard takes each address from one key.
	var in net.PacketConn
	var err error
	a.inside(t, func() { in, err = net.ListenPacket("udp4", ":9000") })
	require.NoError(t, err)
	defer in.Close()
	b.inside(t, func() {
		if err = addAddress(mesh.Visitor); err != nil {
			return
		}
		for _, at := range []netip.Addr{mesh.Visitor, mesh.Address(1)} {
			d := net.Dialer{LocalAddr: &net.UDPAddr{IP: at.AsSlice()}}
			var out net.Conn
			if out, err = d.Dial("udp4", mesh.Address(0).String()+":9000"); err != nil {
				return
			}
			_, err = io.WriteString(out, at.String())
			err = errors.Join(err, out.Close())
		}
	})
	require.NoError(t, err)
	require.NoError(t, in.SetReadDeadline(time.Now().Add(time.Minute)))
	got := make([]byte, 64)
	n, _, err := in.ReadFrom(got)
	require.NoError(t, err)
	require.Equal(t, mesh.Address(1).String(), string(got[:n]), "the one in its own name, which was sent later")
	late.reaches(t, 0, "a")
}

func TestAVisitorDoesNotOutstayItsRights(t *testing.T) {
	customer, a, _ := visited(t)
	c, kept := newComputer(t, customer, mesh.Visitor), newComputer(t, customer, mesh.KeptVisitor)
	c.join(t, false, a)
	kept.join(t, true, a)
	c.reaches(t, 0, "a")
	kept.reaches(t, 0, "a")

	// A computer that says nothing for a minute has left; one with a configuration stays.
	a.groups.mu.Lock()
	e := a.groups.ends[a.member.Lease]
	a.groups.mu.Unlock()
	e.mu.Lock()
	v := e.visitors[mesh.Visitor]
	v.heard = v.heard.Add(-visitLife)
	e.visitors[mesh.Visitor] = v
	e.mu.Unlock()
	e.expire(t.Context())
	_, err := c.get(t, 0, 2*time.Second)
	require.Error(t, err)
	kept.reaches(t, 0, "a")

	a.mu.Lock()
	a.customer = newKey(t) // a session key that was revoked
	a.mu.Unlock()
	e.expire(t.Context())
	_, err = kept.get(t, 0, 2*time.Second)
	require.Error(t, err)
}

// An agent that starts again has forgotten the computer, and lets it in as soon as it says that it is there.
func TestAnAgentThatStartsAgainLetsTheComputerIn(t *testing.T) {
	a, b := pair(t)
	customer := newKey(t)
	a.customer, b.customer = customer, customer
	a.agent(t)
	stop := b.agent(t)
	c := newComputer(t, customer, mesh.Visitor)
	c.join(t, false, a, b)
	c.reaches(t, 1, "b")
	stop()
	b.agent(t)
	c.join(t, false, a, b)
	c.reaches(t, 1, "b")
}

// addAddress gives the group's interface of this thread's namespace another address.
func addAddress(at netip.Addr) error {
	link, err := netlink.LinkByName(mesh.Interface)
	if err != nil {
		return err
	}
	return netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: at.AsSlice(), Mask: net.CIDRMask(at.BitLen(), at.BitLen())}})
}
