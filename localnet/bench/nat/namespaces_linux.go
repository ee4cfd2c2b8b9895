package nat

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"
)

// delays, one way to the backbone's middle. There and back through a keeper takes 2 × (8 + 25 + 25 + 12) = 140 ms,
// directly 2 × (8 + 12) = 40 ms.
const (
	delayNode     = 8 * time.Millisecond
	delayCustomer = 12 * time.Millisecond
	delayKeeper   = 25 * time.Millisecond
)

// lab is the namespaces and what connects them.
type lab struct {
	prefix string
	names  []string
	bone   backbone
	stop   context.CancelFunc
}

func run(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// newLab begins a lab with a name of its own, so that several can run at once.
func newLab() *lab {
	return &lab{prefix: fmt.Sprintf("gnat%d", os.Getpid()), bone: backbone{ports: map[netip.Addr]*port{}}, stop: func() {}}
}

// ns is the full name of a namespace.
func (l *lab) ns(name string) string { return l.prefix + "-" + name }

func (l *lab) addNamespace(ctx context.Context, name string) error {
	if err := run(ctx, "ip", "netns", "add", l.ns(name)); err != nil {
		return err
	}
	l.names = append(l.names, name)
	return run(ctx, "ip", "-n", l.ns(name), "link", "set", "lo", "up")
}

// addPublic makes a machine on the backbone.
func (l *lab) addPublic(ctx context.Context, name string, delay time.Duration) (*port, error) {
	if err := l.addNamespace(ctx, name); err != nil {
		return nil, err
	}
	ns, addr := l.ns(name), addrOf(len(l.bone.ports)+1)
	dev := fmt.Sprintf("gn%d-%d", os.Getpid()%1_000_000, len(l.bone.ports))
	file, err := openTun(dev)
	if err != nil {
		return nil, err
	}
	p := &port{name: name, addr: addr, delay: delay, file: file}
	l.bone.ports[addr] = p
	for _, args := range [][]string{
		{"ip", "link", "set", dev, "netns", ns},
		{"ip", "-n", ns, "link", "set", dev, "name", "wan0"},
		{"ip", "-n", ns, "link", "set", "wan0", "mtu", fmt.Sprint(mtu), "up"},
		{"ip", "-n", ns, "addr", "add", addr.String() + "/32", "dev", "wan0"},
		{"ip", "-n", ns, "route", "add", "default", "dev", "wan0"},
	} {
		if err := run(ctx, args...); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// addHome makes a router on the backbone and a machine behind it.
func (l *lab) addHome(ctx context.Context, router, machine string, net int, kind Router, delay time.Duration) (*port, error) {
	p, err := l.addPublic(ctx, router, delay)
	if err != nil {
		return nil, err
	}
	if err := l.addNamespace(ctx, machine); err != nil {
		return nil, err
	}
	rns, mns, lan := l.ns(router), l.ns(machine), fmt.Sprintf("192.168.%d.", net)
	for _, args := range [][]string{
		{"ip", "-n", rns, "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", mns},
		{"ip", "-n", rns, "addr", "add", lan + "1/24", "dev", "lan0"},
		{"ip", "-n", rns, "link", "set", "lan0", "up"},
		{"ip", "-n", mns, "addr", "add", lan + "2/24", "dev", "eth0"},
		{"ip", "-n", mns, "link", "set", "eth0", "up"},
		{"ip", "-n", mns, "route", "add", "default", "via", lan + "1"},
		{"ip", "netns", "exec", rns, "sysctl", "-qw", "net.ipv4.ip_forward=1"},
	} {
		if err := run(ctx, args...); err != nil {
			return nil, err
		}
	}
	return p, l.setRouter(ctx, router, kind)
}

// rules of a router: what comes in unasked is dropped, as home routers do. That matters for more than safety: a router
// that answered for itself would take the port that a hole needs.
const rules = `table ip nat {
	chain out { type nat hook postrouting priority srcnat; policy accept; oifname "wan0" %s; }
}
table ip filter {
	chain input { type filter hook input priority filter; policy accept; iifname "wan0" ct state != { established, related } drop; }
	chain forward { type filter hook forward priority filter; policy accept; %s iifname "wan0" ct state != { established, related } drop; }
}
`

// setRouter loads the rules of a kind of router.
func (l *lab) setRouter(ctx context.Context, router string, kind Router) error {
	masquerade, more := "masquerade", ""
	switch kind {
	case Symmetric:
		masquerade = "masquerade fully-random"
	case NoUDP:
		more = "meta l4proto udp drop;"
	}
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", l.ns(router), "nft", "-f", "-")
	cmd.Stdin = strings.NewReader("flush ruleset\n" + fmt.Sprintf(rules, masquerade, more))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft in %s: %w: %s", router, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// start lets packets flow.
func (l *lab) start(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	l.stop = stop
	l.bone.start(ctx)
}

// close removes everything.
func (l *lab) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l.stop()
	var errs error
	for _, n := range l.names {
		errs = errors.Join(errs, run(ctx, "ip", "netns", "del", l.ns(n)))
	}
	return errors.Join(errs, l.bone.close())
}

// missing says what this machine lacks.
func missing() string {
	if os.Geteuid() != 0 {
		return "it needs root, to make network namespaces (sudo make nat)"
	}
	for tool, pkg := range map[string]string{"ip": "iproute2", "nft": "nftables", "sysctl": "procps"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Sprintf("%s is missing: apt-get install %s", tool, pkg)
		}
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return "the kernel has no /dev/net/tun"
	}
	return ""
}
