package runtime

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// left is what leases have made of the machine's network.
func left(t *testing.T) string {
	t.Helper()
	out := nettest.Run(t, "ip", "-o", "link")
	var found []string
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, ": gl") {
			found = append(found, line)
		}
	}
	out = nettest.Run(t, "ip", "route", "show", "table", "all")
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "dev gl") {
			found = append(found, line)
		}
	}
	tables, err := network.Tables()
	require.NoError(t, err)
	return strings.Join(append(found, tables...), "\n")
}

func requireNothingLeft(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return left(t) == "" }, time.Minute, 50*time.Millisecond, "left: %s", left(t))
	require.Equal(t, "0", forwarding(t, "up0"), "forwarding is as it was")
	require.Equal(t, "world", strings.Fields(nettest.Run(t, "ip", "netns"))[0])
	require.Equal(t, 1, strings.Count(nettest.Run(t, "ip", "netns"), "\n"), "only the test's own namespace")
}

func forwarding(t *testing.T, link string) string {
	t.Helper()
	raw, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + link + "/forwarding")
	require.NoError(t, err)
	return strings.TrimSpace(string(raw))
}

// waiting starts a container that does things and then waits.
func waiting(t *testing.T, p *Process, lease, image string, command ...string) string {
	t.Helper()
	st, err := p.Start(background(t), Spec{LeaseID: lease, Image: image, Network: NetworkInternet, Command: append(command, "wait")})
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase, "%+v", st.Exit)
	require.Eventually(t, func() bool { return strings.Contains(printed(t, p, lease), "waiting") }, 2*time.Minute, 50*time.Millisecond)
	return printed(t, p, lease)
}

var ownAddress = regexp.MustCompile(`198\.19\.\d+\.\d+`)

// answers are what a container's questions were answered; all of them must have been asked.
func answers(t *testing.T, out string, questions []string) map[string]string {
	t.Helper()
	all, reached := map[string]string{}, map[string]string{}
	for _, line := range strings.Split(out, "\n") {
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && f[0] == "asked" {
			all[f[1]] = f[2]
			if strings.HasPrefix(f[2], "you are") {
				reached[f[1]] = f[2]
			}
		}
	}
	for _, q := range questions {
		require.Contains(t, all, q)
	}
	return reached
}

// questions asks by every protocol.
func questions(port string, addrs ...string) (out []string) {
	for _, a := range addrs {
		out = append(out, "tcp://"+net.JoinHostPort(a, port), "udp://"+net.JoinHostPort(a, port), "ping://"+a)
	}
	return out
}

// forbidden are addresses of the world, and of this machine, that no lease may reach though the machine itself does.
var forbidden = []string{
	"10.9.9.9", "172.16.9.9", "192.168.9.9", "100.64.9.9", "169.254.169.254", "168.63.129.16", "198.18.9.9", "192.0.2.9", "198.51.100.9", "203.0.113.9",
}

func TestHostileContainerReachesTheInternetOnly(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, append(forbidden, nettest.Web, nettest.Resolver, "11.9.9.9")...)
	port := nettest.Serve(t)
	p, image := containers(t)
	p = restarted(t, p, network.Options{Deny: []netip.Prefix{netip.MustParsePrefix("11.9.0.0/16")}})

	other := waiting(t, p, "other", image, "addresses", "serve=80")
	neighbour := ownAddress.FindString(other)
	require.NotEmpty(t, neighbour, other)

	all := questions("80", append(forbidden, nettest.Web, neighbour, "11.9.9.9")...)
	all = append(all, questions(port, nettest.Host, nettest.LAN, "198.19.224.1")...)
	all = append(all, "tcp://127.0.0.1:"+port, "udp://127.0.0.1:"+port, "tcp://"+nettest.Web+":25", "tcp://["+nettest.Web6+"]:80")
	st, out := ran(t, p, Spec{LeaseID: "l", Image: image, Network: NetworkInternet, Command: []string{
		"resolve=anything.example", "resolve=localhost", "raw", "addresses", "ask=" + strings.Join(all, ","),
	}})
	require.Equal(t, 0, st.Exit.Code, "%s%s", st.Exit.Message, out)
	t.Logf("%s\n%s", strings.Join(st.Limits, "; "), out)
	require.Contains(t, out, "resolved anything.example ["+nettest.Web+" ")
	require.Contains(t, out, "resolved localhost [127.0.0.1 ::1] <nil>")
	require.Equal(t, map[string]string{
		"tcp://" + nettest.Web + ":80": "you are " + nettest.Host, "udp://" + nettest.Web + ":80": "you are " + nettest.Host,
		"ping://" + nettest.Web: "you are there",
	}, answers(t, out, all), "the world sees the machine's address, and nothing else answers")
	require.Equal(t, 2, strings.Count(out, "raw socket"), out)
	require.NotContains(t, out, "raw socket 2 <nil>")
	require.NotContains(t, out, "raw socket 17 <nil>")
	// The machine itself reaches all of it, so that the silence is the rules'.
	for _, a := range append(forbidden, nettest.Web, "11.9.9.9") {
		c, err := net.DialTimeout("tcp", a+":80", 10*time.Second)
		require.NoError(t, err)
		c.Close()
	}
	require.Equal(t, "1", forwarding(t, "up0"))
	for _, lease := range []string{"l", "other"} {
		_, err := p.Stop(background(t), lease, 0)
		require.NoError(t, err)
		removeJob(t, p, lease)
	}
	requireNothingLeft(t)
}

func TestHostileContainerOfAKilledSupervisorLeavesNoNetwork(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web, nettest.Resolver)
	p, image := containers(t)
	kill := func(lease string) {
		d, err := p.dir(lease)
		require.NoError(t, err)
		var r runRecord
		_, err = readJSON(d.run(), &r)
		require.NoError(t, err)
		require.NoError(t, r.Supervisor.Signal(syscall.SIGKILL))
	}
	lost := func(lease string) func() bool {
		return func() bool {
			st, err := p.Status(background(t), lease)
			return err == nil && st.Phase == Lost
		}
	}
	// The agent finds it when it removes the lease.
	waiting(t, p, "l", image)
	require.Equal(t, 2, strings.Count(left(t), ": gl")+strings.Count(left(t), "gantry-"), left(t))
	kill("l")
	require.Eventually(t, lost("l"), time.Minute, 50*time.Millisecond)
	removeJob(t, p, "l")
	requireNothingLeft(t)
	// Or the next agent finds it when it starts. What runs on is left alone.
	waiting(t, p, "killed", image)
	waiting(t, p, "live", image)
	kill("killed")
	require.Eventually(t, lost("killed"), time.Minute, 50*time.Millisecond)
	p = restarted(t, p, network.Options{})
	require.Equal(t, 1, strings.Count(left(t), ": gl"), left(t))
	require.Contains(t, left(t), "gantry-")
	kill("live")
	require.Eventually(t, lost("live"), time.Minute, 50*time.Millisecond)
	p = restarted(t, p, network.Options{})
	requireNothingLeft(t)
}

// Another program may remove all rules, as a restarted firewall does.
func TestHostileContainerKeepsItsRules(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	p, image := containers(t)
	waiting(t, p, "l", image)
	before, err := network.Tables()
	require.NoError(t, err)
	require.Len(t, before, 1)
	c, err := nftables.New()
	require.NoError(t, err)
	c.FlushRuleset()
	require.NoError(t, c.Flush())
	require.Eventually(t, func() bool {
		now, err := network.Tables()
		require.NoError(t, err)
		return len(now) == 1
	}, time.Minute, 20*time.Millisecond)
	_, err = p.Stop(background(t), "l", 0)
	require.NoError(t, err)
	removeJob(t, p, "l")
	requireNothingLeft(t)
}

func TestHostileContainerWithIPv6(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("1"), 0))
	forbidden := []string{"fd00:ec2::254", "2001:db8::9", "2002:a00:1::1", "64:ff9b::a00:1"}
	nettest.Internet(t, append(forbidden, nettest.Web, nettest.Web6, nettest.Resolver)...)
	port := nettest.Serve(t)
	p, image := containers(t)
	other := waiting(t, p, "other", image, "addresses", "serve=80")
	neighbour := regexp.MustCompile(`fd[0-9a-f:]+`).FindString(other)
	require.NotEmpty(t, neighbour, other)
	all := append(questions("80", append(forbidden, nettest.Web6, neighbour)...), questions(port, nettest.Host6)...)
	st, out := ran(t, p, Spec{LeaseID: "l", Image: image, Network: NetworkInternet, Command: []string{"resolve=anything.example", "ask=" + strings.Join(all, ",")}})
	require.Equal(t, 0, st.Exit.Code, "%s%s", st.Exit.Message, out)
	t.Log(out)
	require.Contains(t, out, nettest.Web6+"] <nil>")
	require.Equal(t, map[string]string{
		"tcp://[" + nettest.Web6 + "]:80": "you are " + nettest.Host6, "udp://[" + nettest.Web6 + "]:80": "you are " + nettest.Host6,
		"ping://" + nettest.Web6: "you are there",
	}, answers(t, out, all))
	for _, a := range append(forbidden, nettest.Web6) {
		c, err := net.DialTimeout("tcp", "["+a+"]:80", 10*time.Second)
		require.NoError(t, err)
		c.Close()
	}
}

// restarted is a new agent for the same leases, with other settings.
func restarted(t *testing.T, p *Process, o network.Options) *Process {
	t.Helper()
	options := options(p.root)
	options.Sandbox, options.Network = p.sandbox, o
	next, err := NewProcess(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { stopAll(t, next) })
	return next
}

func TestAContainerWithoutANetworkWhereThereIsNone(t *testing.T) {
	p, image := containers(t)
	p = restarted(t, p, network.Options{Off: true})
	err := p.Check(Spec{LeaseID: "l", Image: image, Network: NetworkInternet})
	require.ErrorIs(t, err, ErrNetwork)
	require.ErrorContains(t, err, "its provider has switched it off")
	require.ErrorContains(t, err, "--network none")
	require.NoError(t, p.Check(Spec{LeaseID: "l", Image: image}))
	require.ErrorIs(t, p.Check(Spec{LeaseID: "l", Image: image, Network: "host"}), ErrSpec)
	require.ErrorIs(t, p.Check(Spec{LeaseID: "l", Command: []string{"true"}, Network: NetworkInternet}), ErrSpec)
	_, err = os.Stat(filepath.Join(p.root, "l"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
