// Package nettest puts a test into namespaces of its own, with an internet that nobody else sees.
package nettest

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Addresses of the machine that the test plays, and of its internet.
const (
	Host  = "11.0.0.1"
	Host6 = "2a00::1"
	// LAN is the machine's address in a second network, a private one.
	LAN = "192.168.77.1"
	// Web and Web6 answer like everything on the internet: see [Internet].
	Web  = "13.0.0.1"
	Web6 = "2a00:9::1"
	// Resolver answers every name with Web, and Web6.
	Resolver = "1.1.1.1"
)

const entered = "GANTRY_NETTEST"

// Enter runs the test again in namespaces of its own, and reports whether the caller is within them. Outside it waits for
// the inner run and fails with it. It skips a test that this machine cannot run.
func Enter(t testing.TB) bool {
	t.Helper()
	if os.Getenv(entered) == t.Name() {
		furnish(t)
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: ip is missing: apt-get install iproute2")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.count=1", "-test.timeout=9m", "-test.run=^"+t.Name()+"$")
	if _, ok := t.(*testing.B); ok {
		cmd.Args = append(cmd.Args, "-test.run=^$", "-test.bench=^"+t.Name()+"$", "-test.benchtime=1x")
	}
	cmd.Env = append(os.Environ(), entered+"="+t.Name())
	// As the first process of its own process namespace it takes everything that it has started along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("SKIPPED: see above")
	}
	return false
}

// Run runs a command.
func Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(args, " "), out)
	return string(out)
}

func furnish(t testing.TB) {
	require.Equal(t, 1, os.Getpid(), "not in namespaces of its own")
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	require.NoError(t, unix.Mount("proc", "/proc", "proc", 0, ""))
	require.NoError(t, unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	for _, c := range []string{
		"ip link set lo up",
		"ip netns add world",
		"ip link add up0 type veth peer name eth0 netns world",
		"ip addr add " + Host + "/24 dev up0",
		"ip -6 addr add " + Host6 + "/64 dev up0 nodad",
		"ip link set up0 up",
		"ip link add lan0 type bridge",
		"ip addr add " + LAN + "/24 dev lan0",
		"ip link set lan0 up",
		"ip -n world link set lo up",
		"ip -n world link set eth0 up",
		"ip -n world addr add 11.0.0.2/24 dev eth0",
		"ip -n world -6 addr add 2a00::2/64 dev eth0 nodad",
		"ip route add default via 11.0.0.2",
		"ip -6 route add default via 2a00::2",
	} {
		Run(t, strings.Fields(c)...)
	}
}

// Internet adds addresses to the world and answers at each: with [Answer] to whom connects to TCP port 80 or 25 or sends to UDP
// port 80, and as a resolver at UDP port 53. Ping is answered by the kernel.
func Internet(t testing.TB, addrs ...string) {
	t.Helper()
	for _, a := range addrs {
		bits := netip.MustParseAddr(a).BitLen()
		Run(t, "ip", "-n", "world", "addr", "add", fmt.Sprintf("%s/%d", a, bits), "dev", "lo", "nodad")
	}
	In(t, "world", func() {
		serveTransfers(t)
		for _, port := range []string{"80", "25"} {
			l, err := net.Listen("tcp", ":"+port)
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
			go serve(l)
		}
		for _, a := range addrs { // one for each, so that it answers from the address that was asked
			udp(t, net.JoinHostPort(a, "80"), answerUDP)
			udp(t, net.JoinHostPort(a, "53"), resolve)
		}
	})
}

// Answer is what a server says to whom it sees as peer.
func Answer(peer net.Addr) string {
	host, _, _ := net.SplitHostPort(peer.String())
	return "you are " + host
}

// Serve answers on every address of this machine at a TCP and UDP port, which it returns.
func Serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go serve(l)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	udp(t, ":"+port, answerUDP)
	return port
}

func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.WriteString(c, Answer(c.RemoteAddr()))
		}()
	}
}

func udp(t testing.TB, addr string, answer func([]byte, net.Addr) []byte) {
	c, err := net.ListenPacket("udp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(answer(b[:n], from), from)
		}
	}()
}

func answerUDP(_ []byte, from net.Addr) []byte { return []byte(Answer(from)) }

// In runs f in a named network namespace.
func In(t testing.TB, name string, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := netns.Get()
	require.NoError(t, err)
	defer own.Close()
	other, err := netns.GetFromName(name)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, netns.Set(other))
	defer func() { require.NoError(t, netns.Set(own)) }()
	f()
}
