package network

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

func TestWhatIsOnTheInternet(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "198.17.255.255", "223.255.255.255", "2606:4700::1111", "2a00::1", "::ffff:1.1.1.1"} {
		require.True(t, Public(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{
		"0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1",
		"192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::ffff:10.0.0.1", "64:ff9b::1", "100::1", "2001::1", "2001:db8::1", "2002::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1",
	} {
		require.False(t, Public(netip.MustParseAddr(a)), a)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for want, o := range map[string]Options{
		"is on the internet":     {Owner: "x", Pool: netip.MustParsePrefix("11.0.0.0/20")},
		"give a range":           {Owner: "x", Pool: netip.MustParsePrefix("10.0.0.1/20")},
		"/30":                    {Owner: "x", Pool: netip.MustParsePrefix("10.0.0.0/30")},
		"not on the internet":    {Owner: "x", DNS: []netip.Addr{netip.MustParseAddr("10.0.0.53")}},
		"the first 3 only":       {Owner: "x", DNS: append(publicResolvers, publicResolvers...)},
		"there is no port 0":     {Owner: "x", ClosedPorts: []uint16{0}},
		"no owner":               {},
		"of IPv4 of /16 to /28,": {Owner: "x", Pool: netip.MustParsePrefix("fd00::/64")},
	} {
		_, err := New(o)
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, want)
	}
}

func TestResolversOfTheMachine(t *testing.T) {
	path := t.TempDir() + "/resolv.conf"
	require.NoError(t, os.WriteFile(path, []byte("search x\nnameserver 127.0.0.53\nnameserver 10.0.0.1\nnameserver 8.8.8.8\nnameserver nonsense\nnameserver\n"), 0o600))
	require.Equal(t, []netip.Addr{netip.MustParseAddr("8.8.8.8")}, hostResolvers(path))
	require.Empty(t, hostResolvers(path+"x"))
}

// tenant is a process with a network namespace of its own and every right in it: what a container would be that has broken
// out of its sandbox's kernel, but not out of its namespace.
func tenant(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// planned is what a supervisor reads from the lease's folder.
func planned(t *testing.T, n *Network) Plan {
	t.Helper()
	p, err := n.Plan()
	require.NoError(t, err)
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	var out Plan
	require.NoError(t, json.NewDecoder(bytes.NewReader(raw)).Decode(&out))
	return out
}

func attach(t *testing.T, o Options, lease string) (*Network, int, netip.Addr) {
	t.Helper()
	n, err := New(o)
	require.NoError(t, err)
	p, pid := planned(t, n), tenant(t)
	addrs, err := p.Attach(lease, pid)
	require.NoError(t, err)
	return n, pid, addrs[0]
}

// in runs a command in a tenant's namespace.
func in(t *testing.T, pid int, args ...string) string {
	t.Helper()
	return nettest.Run(t, append([]string{"nsenter", "--net=/proc/" + strconv.Itoa(pid) + "/ns/net"}, args...)...)
}

// send sends a datagram from an address of a tenant's, and reports whether the world got it.
func send(t *testing.T, pid int, from string) bool {
	t.Helper()
	var world net.PacketConn
	nettest.In(t, "world", func() {
		var err error
		world, err = net.ListenPacket("udp", net.JoinHostPort(nettest.Web, "7777"))
		require.NoError(t, err)
	})
	defer world.Close()
	// Until one arrives, or many did not.
	for range 20 {
		err := within(pid, func() error {
			d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
			c, err := d.Dial("udp", net.JoinHostPort(nettest.Web, "7777"))
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Write([]byte("x"))
			return err
		})
		require.NoError(t, err)
		require.NoError(t, world.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		if _, _, err := world.ReadFrom(make([]byte, 16)); err == nil {
			return true
		}
	}
	return false
}

// A tenant that does what it wants in its namespace still sends from its own address only, and reaches no neighbour.
func TestHostileContainerForgesNoAddress(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web)
	n, pid, own := attach(t, Options{Owner: "x"}, "l")
	_, _, other := attach(t, Options{Owner: "x"}, "other")
	require.True(t, send(t, pid, own.String()))
	for _, forged := range []string{other.String(), nettest.Host, "8.8.8.8", "10.0.0.9"} {
		in(t, pid, "ip", "addr", "add", forged+"/32", "dev", "eth0")
		require.False(t, send(t, pid, forged), "from %s", forged)
	}
	require.True(t, send(t, pid, own.String()))
	// Nobody tells it who has an address of the machine.
	in(t, pid, "ip", "neigh", "flush", "all")
	in(t, pid, "ip", "route", "add", nettest.LAN, "dev", "eth0")
	require.NoError(t, within(pid, func() error {
		_, err := net.DialTimeout("tcp", net.JoinHostPort(nettest.LAN, "80"), 2*time.Second)
		require.Error(t, err)
		return nil
	}))
	require.NotContains(t, in(t, pid, "ip", "neigh", "show", nettest.LAN), "lladdr")
	require.NoError(t, n.Detach("l"))
	require.NoError(t, n.Detach("l"), "what is gone is gone")
	require.NotContains(t, nettest.Run(t, "ip", "-o", "link"), linkName("x", "l"))
	left, err := Tables()
	require.NoError(t, err)
	require.Len(t, left, 1, "the other lease's rules stay")
	require.NoError(t, n.Sweep(nil))
	left, err = Tables()
	require.NoError(t, err)
	require.Empty(t, left)
}

// The machine does not become a router for the networks around it, and two agents do not get into each other's way.
func TestForwardingIsForLeasesOnly(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web)
	state := func() string {
		v, err := readSetting(setting("ipv4", "up0", "forwarding"))
		require.NoError(t, err)
		return v
	}
	// A machine behind this one, to which a neighbour in the world could send packets through it.
	for _, c := range []string{
		"ip netns add behind", "ip link add be0 type veth peer name eth0 netns behind", "ip addr add 12.0.0.1/24 dev be0", "ip link set be0 up",
		"ip -n behind link set eth0 up", "ip -n behind addr add 12.0.0.2/24 dev eth0", "ip -n behind route add default via 12.0.0.1",
		"ip -n world route add 12.0.0.0/24 via 11.0.0.1",
	} {
		nettest.Run(t, strings.Fields(c)...)
	}
	// Nobody listens behind: whose packets arrive is refused.
	reaches := func() (arrived bool) {
		nettest.In(t, "world", func() {
			_, err := net.DialTimeout("tcp", "12.0.0.2:80", 2*time.Second)
			arrived = errors.Is(err, syscall.ECONNREFUSED)
		})
		return arrived
	}
	require.NoError(t, writeSetting(setting("ipv4", "be0", "forwarding"), "1"))
	require.NoError(t, writeSetting(setting("ipv4", "up0", "forwarding"), "1"))
	require.True(t, reaches(), "the way is there")
	require.NoError(t, writeSetting(setting("ipv4", "up0", "forwarding"), "0"))
	require.False(t, reaches())

	a, _, first := attach(t, Options{Owner: "a"}, "l")
	require.Equal(t, "1", state())
	require.False(t, reaches(), "a neighbour is not forwarded")
	b, _, second := attach(t, Options{Owner: "b"}, "l")
	require.NotEqual(t, first, second, "agents share the range")
	require.NoError(t, a.Detach("l"))
	require.Equal(t, "1", state(), "the other agent needs it")
	require.NoError(t, b.Detach("l"))
	require.Equal(t, "0", state())
	// A machine that has become a router meanwhile stays one.
	_, _, _ = attach(t, Options{Owner: "a"}, "again")
	require.NoError(t, writeSetting("/proc/sys/net/ipv4/ip_forward", "1"))
	require.NoError(t, a.Detach("again"))
	require.Equal(t, "1", state())
}

func TestRangesThatTheMachineUses(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	n, err := New(Options{Owner: "x"})
	require.NoError(t, err)
	require.Equal(t, ownPools[0], planned(t, n).Pool)
	nettest.Run(t, "ip", "route", "add", "198.19.230.0/24", "dev", "lan0")
	require.Equal(t, ownPools[1], planned(t, n).Pool)
	n, err = New(Options{Owner: "x", Pool: netip.MustParsePrefix("192.168.64.0/18")})
	require.NoError(t, err)
	_, err = n.Plan()
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "overlaps with the route to 192.168.77.")
	nettest.Run(t, "ip", "route", "del", "default")
	n, err = New(Options{Owner: "x"})
	require.NoError(t, err)
	_, err = n.Plan()
	require.ErrorContains(t, err, "no default route")
	n, err = New(Options{Owner: "x", Off: true})
	require.NoError(t, err)
	_, err = n.Plan()
	require.ErrorContains(t, err, "switched it off")
}

// A default route that moves to another interface takes the leases along.
func TestRoutesThatMove(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	n, err := New(Options{Owner: "x"})
	require.NoError(t, err)
	p, pid := planned(t, n), tenant(t)
	_, err = p.Attach("l", pid)
	require.NoError(t, err)
	changed, err := p.Keep()
	require.NoError(t, err)
	require.False(t, changed)
	nettest.Run(t, "ip", "route", "replace", "default", "via", "192.168.77.9", "dev", "lan0", "onlink")
	changed, err = p.Keep()
	require.NoError(t, err)
	require.True(t, changed)
	up, raised, _, err := p.current()
	require.NoError(t, err)
	require.Equal(t, []string{"lan0"}, up)
	require.Equal(t, []string{"lan0", "up0"}, raised, "both are switched off at the end")
	require.NoError(t, p.Detach("l"))
	for _, link := range raised {
		v, err := readSetting(setting("ipv4", link, "forwarding"))
		require.NoError(t, err)
		require.Equal(t, "0", v)
	}
}

func TestAMachineWhoseFirewallForwardsNothing(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	warnings, err := Warnings()
	require.NoError(t, err)
	require.Empty(t, warnings)
	c, err := nftables.New()
	require.NoError(t, err)
	drop := nftables.ChainPolicyDrop
	c.AddChain(&nftables.Chain{
		Name: "FORWARD", Table: c.AddTable(&nftables.Table{Name: "filter", Family: nftables.TableFamilyIPv4}), Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter, Policy: &drop,
	})
	require.NoError(t, c.Flush())
	warnings, err = Warnings()
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "chain FORWARD of table filter")
}
