package network

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"

	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// What becomes of a packet.
const (
	refused     = "refused"     // by a reset
	unreachable = "unreachable" // by ICMP
	silent      = "silent"
)

// Addresses of a machine behind this one, for which it forwards.
const (
	behind, behind6 = "12.0.0.2", "2a00:7::2"
	elsewhere       = "192.168.77.5" // the world's, though this machine has its way to it by lan0
)

// packet is a packet, or a connection, and what must become of it.
type packet struct {
	name, want string
	from       string // a namespace by name; empty for the lease's
	try        func(wait time.Duration) string
}

// watched is a machine with a lease, whose packets are known.
type watched struct {
	plan    Plan
	pid     int
	packets []packet
}

// ends are two addresses of each half of a range.
func ends(p netip.Prefix) []string {
	if p.Bits() == p.Addr().BitLen() {
		return []string{p.Addr().String()}
	}
	upper := p.Addr().AsSlice()
	upper[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	var out []string
	for _, b := range [][]byte{p.Addr().AsSlice(), upper} {
		b[len(b)-1] |= 9
		a, _ := netip.AddrFromSlice(b)
		out = append(out, a.String())
	}
	return out
}

// forwarded reports whether the kernel would forward packets to a range, which is never so for these.
func forwarded(p netip.Prefix) bool {
	return !slices.Contains(prefixes("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4"), p)
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	denied := netip.MustParsePrefix("11.9.0.0/16")
	var special []string
	for _, p := range slices.Concat(special4, special6, []netip.Prefix{denied}) {
		if forwarded(p) {
			special = append(special, ends(p)...)
		}
	}
	special = append(special, "fd00::9", "64:ff9b::9", "4000::9")
	for path, value := range map[string]string{setting("ipv6", "all", "forwarding"): "1", setting("ipv4", "all", "rp_filter"): "0", setting("ipv4", "up0", "rp_filter"): "0"} {
		require.NoError(t, writeSetting(path, value))
	}
	nettest.Run(t, "ip", "-6", "route", "replace", "default", "via", "2a00::2", "dev", "up0")
	nettest.Internet(t, append(special, nettest.Web, nettest.Web6)...)
	for _, c := range []string{
		"ip netns add behind", "ip link add be0 type veth peer name eth0 netns behind",
		"ip addr add 12.0.0.1/24 dev be0", "ip addr add 2a00:7::1/64 dev be0 nodad", "ip link set be0 up",
		"ip -n behind link set lo up", "ip -n behind link set eth0 up", "ip -n behind addr add " + behind + "/24 dev eth0",
		"ip -n behind addr add " + behind6 + "/64 dev eth0 nodad",
		"ip -n behind route add default via 12.0.0.1", "ip -n behind route add default via 2a00:7::1",
		"ip -n world route add 12.0.0.0/24 via 11.0.0.1", "ip -n world route add 2a00:7::/64 via 2a00::1",
		"ip -n world route add 198.19.224.0/20 via 11.0.0.1", "ip -n world addr add " + elsewhere + "/32 dev lo",
	} {
		nettest.Run(t, strings.Fields(c)...)
	}
	require.NoError(t, writeSetting(setting("ipv4", "be0", "forwarding"), "1"))
	own, err := strconv.Atoi(nettest.Serve(t))
	require.NoError(t, err)
	publish(t, own)
	for _, port := range []string{"465", "587", "2525"} {
		nettest.In(t, "world", func() { listen(t, ":"+port) })
	}
	nettest.In(t, "behind", func() { listen(t, ":80") })

	_, pid, lease := attach(t, Options{Owner: "x", Deny: []netip.Prefix{denied}}, "l")
	n, err := New(Options{Owner: "x", Deny: []netip.Prefix{denied}})
	require.NoError(t, err)
	w := &watched{plan: planned(t, n), pid: pid}
	require.True(t, w.plan.IPv6)
	require.NoError(t, w.within("", func() error { return listenAt(t, ":7000") }))
	nettest.Run(t, "nsenter", "--net=/proc/"+strconv.Itoa(pid)+"/ns/net", "ip", "addr", "add", "8.8.8.8/32", "dev", "eth0")
	w.fill(t, lease, own, special)
	return w
}

// fill says what must become of which packet.
func (w *watched) fill(t *testing.T, lease netip.Addr, own int, special []string) {
	add := func(from, name, want string, try func(time.Duration) string) {
		w.packets = append(w.packets, packet{name: name, want: want, from: from, try: try})
	}
	port := strconv.Itoa(own)
	at := net.JoinHostPort
	saw := func(a string) string { return "you are " + a }
	add("", "the internet", saw(nettest.Host), tcpTo(at(nettest.Web, "80")))
	add("", "the internet by UDP", saw(nettest.Host), udpTo(at(nettest.Web, "80")))
	add("", "the internet by IPv6", saw(nettest.Host6), tcpTo(at(nettest.Web6, "80")))
	for _, a := range special {
		add("", a, refused, tcpTo(at(a, "80")))
	}
	add("", special[0]+" by UDP", unreachable, udpTo(at(special[0], "80")))
	for _, p := range DefaultClosedPorts {
		add("", fmt.Sprintf("port %d", p), refused, tcpTo(at(nettest.Web, strconv.Itoa(int(p)))))
	}
	add("", "a network that is not the internet's", refused, tcpTo(at(behind, "80")))
	for _, a := range []string{nettest.Host, nettest.LAN, "198.19.224.1"} {
		add("", "the machine at "+a, silent, tcpTo(at(a, port)))
	}
	add("", "the machine by UDP", silent, udpTo(at(nettest.Host, port)))
	add("", "a port that the machine publishes", silent, tcpTo(at(nettest.Host, "8080")))
	add("", "a connection that the machine takes", silent, tcpTo(at(nettest.Web, "8081")))
	add("", "a false address", silent, arrives(t, "world", "8.8.8.8", nettest.Web))
	seen := answerToNothing(t)
	add("", "an answer to nothing", silent, seen(lease.String()))

	// The machine's own traffic, and what it forwards for others, is none of the table's business.
	add("world", "the machine's service", saw("11.0.0.2"), tcpTo(at(nettest.Host, port)))
	add("world", "the machine's service by another way", "arrived", arrives(t, "", elsewhere, nettest.Host))
	add("world", "a forwarded port", saw("11.0.0.2"), tcpTo(at(nettest.Host, "9090")))
	add("world", "the machine as a router", silent, tcpTo(at(behind, "80")))
	add("world", "the machine as a router of IPv6", saw("2a00::2"), tcpTo(at(behind6, "80")))
	add("behind", "an answer to nothing from behind", "seen", seen(behind))
	add("behind", "a datagram to a lease", silent, w.arrivesAtLease(t, lease))
	add("behind", "the internet from behind", saw(behind), tcpTo(at(nettest.Web, "80")))
	add("behind", "the internet by IPv6 from behind", saw(behind6), tcpTo(at(nettest.Web6, "80")))
	for _, p := range DefaultClosedPorts {
		add("behind", fmt.Sprintf("port %d from behind", p), saw(behind), tcpTo(at(nettest.Web, strconv.Itoa(int(p)))))
	}
	for _, a := range special {
		from := behind
		if strings.Contains(a, ":") {
			from = behind6
		}
		add("behind", a+" from behind", saw(from), tcpTo(at(a, "80")))
	}
	for _, from := range []string{"behind", "world"} {
		add(from, "a lease's port from "+from, silent, tcpTo(at(lease.String(), "7000")))
	}
}

// mostWait is how long a packet may take at most that must arrive, on a busy machine.
const mostWait = 10 * time.Second

// different names the packets that do not see what they must. Those for which silence is right are asked last, and more than
// once: on a busy machine what a mutant lets pass may take a while.
func (w *watched) different(t *testing.T, wait time.Duration) []string {
	t.Helper()
	for try := 0; ; try++ {
		late := true // the only difference is that something has not arrived yet
		var mu sync.Mutex
		var found []string
		var wg sync.WaitGroup
		for _, p := range w.packets {
			wait := wait
			if (p.want == silent) != (try > 0) {
				continue
			}
			if p.want == silent {
				wait = 500 * time.Millisecond
			}
			wg.Go(func() {
				var got string
				err := w.within(p.from, func() error { got = p.try(wait); return nil })
				if err != nil {
					got = err.Error()
				}
				if got != p.want {
					mu.Lock()
					late = late && got == silent
					found = append(found, fmt.Sprintf("%s: %s", p.name, got))
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(found) > 0 && late && wait < mostWait {
			return w.different(t, mostWait)
		}
		if len(found) > 0 || try == 3 {
			slices.Sort(found)
			return found
		}
	}
}

// within runs f in a namespace, by its name, or in the lease's.
func (w *watched) within(name string, f func() error) error {
	if name == "" {
		return within(w.pid, f)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		done <- func() error {
			ns, err := netns.GetFromName(name)
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := netns.Set(ns); err != nil {
				return err
			}
			return f()
		}()
	}()
	return <-done
}
