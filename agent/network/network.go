package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Network is the leases' network of one agent.
type Network struct{ o Options }

// New checks the settings; it changes nothing. Error: ErrOptions.
func New(o Options) (*Network, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.ClosedPorts == nil {
		o.ClosedPorts = DefaultClosedPorts
	}
	return &Network{o: o}, nil
}

// Off reports whether the provider wants containers to have no network.
func (n *Network) Off() bool { return n.o.Off }

// Mbit is what a lease may send and receive each second; 0: no limit.
func (n *Network) Mbit() uint32 { return n.o.Mbit }

// Plan is what a lease's supervisor is told: the settings, and what was found out about the machine.
type Plan struct {
	Owner       string         `json:"owner"`
	Pool        netip.Prefix   `json:"pool"`
	DNS         []netip.Addr   `json:"dns"`
	Deny        []netip.Prefix `json:"deny,omitempty"`
	ClosedPorts []uint16       `json:"closed_ports"`
	Mbit        uint32         `json:"mbit,omitempty"`
	// IPv6: leases have it too.
	IPv6 bool `json:"ipv6"`

	// raised is what the table says of itself, for when another program has removed it.
	raised []string
}

// Plan looks at the machine as it is now and says how a lease would be connected. Error: ErrUnavailable with the reason.
func (n *Network) Plan() (Plan, error) {
	fail := func(format string, args ...any) (Plan, error) {
		return Plan{}, fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
	}
	switch {
	case n.o.Off:
		return fail("its provider has switched it off")
	case os.Geteuid() != 0:
		return fail("its agent does not run as root")
	}
	if err := probe(); err != nil {
		return fail("%w", err)
	}
	up, err := uplinks(netlink.FAMILY_V4)
	if err != nil {
		return fail("%w", err)
	}
	if len(up) == 0 {
		return fail("the machine has no default route")
	}
	p := Plan{Owner: n.o.Owner, Pool: n.o.Pool, DNS: n.o.DNS, Deny: n.o.Deny, ClosedPorts: n.o.ClosedPorts, Mbit: n.o.Mbit}
	if p.Pool, err = n.pool(); err != nil {
		return fail("%w", err)
	}
	if p.IPv6, err = n.ipv6(); err != nil {
		return fail("%w", err)
	}
	if len(p.DNS) == 0 {
		p.DNS = hostResolvers("/etc/resolv.conf")
	}
	if len(p.DNS) == 0 {
		p.DNS = publicResolvers
	}
	return p, nil
}

// pool is the first range that the machine does not use, or the provider's if it is free.
func (n *Network) pool() (netip.Prefix, error) {
	if n.o.Pool.IsValid() {
		with, err := collision(n.o.Pool)
		if err == nil && with != "" {
			err = fmt.Errorf("the pool %s of its settings overlaps with %s", n.o.Pool, with)
		}
		return n.o.Pool, err
	}
	for _, p := range ownPools {
		if with, err := collision(p); err != nil || with == "" {
			return p, err
		}
	}
	return netip.Prefix{}, errors.New("the machine uses every range that leases could have; its provider must name a free one")
}

// ipv6 reports whether leases have IPv6: where the machine routes it already, and has a way out.
func (n *Network) ipv6() (bool, error) {
	if !forwards6() {
		return false, nil
	}
	up, err := uplinks(netlink.FAMILY_V6)
	if err != nil || len(up) == 0 {
		return false, err
	}
	with, err := collision(pool6(n.o.Owner))
	return with == "", err
}

// Check says why containers could not have networks of their own on this machine, or nothing. It needs root.
func Check() error { return probe() }

// probe tries in an empty network namespace, which is gone afterwards, whether the kernel and the agent's rights suffice.
func probe() error {
	return apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("its agent may not make network namespaces (CAP_SYS_ADMIN): %w", err)
		}
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: linkMark + "0"}, PeerName: linkMark + "1"}
		if err := netlink.LinkAdd(pair); err != nil {
			return fmt.Errorf("its agent cannot make virtual interfaces (CAP_NET_ADMIN, module veth): %w", err)
		}
		p := Plan{Owner: "probe", Pool: ownPools[0], ClosedPorts: DefaultClosedPorts, IPv6: true}
		if err := p.install([]string{"lo"}, nil); err != nil {
			return fmt.Errorf("its kernel lacks what the rules need (nftables with fib, reject and masquerade): %w", err)
		}
		return nil
	})
}

// apart runs f on a thread that may change its namespaces, because it ends with f and runs nothing else.
func apart(f func() error) error {
	done := make(chan error, 1)
	go alone(f, done)
	return <-done
}

func alone(f func() error, done chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		done <- f() // the thread ends with the goroutine that has it
		return
	}
	// The first thread of a process lasts as long as the process, and so would every namespace that it entered. It waits here while
	// another does it.
	defer runtime.UnlockOSThread()
	done <- apart(f)
}

// Sweep removes what leases that no longer live have left; live are the ids of those that do.
func (n *Network) Sweep(live []string) error {
	if os.Geteuid() != 0 {
		return nil // only root has made anything
	}
	p, keep := Plan{Owner: n.o.Owner}, map[string]bool{}
	for _, lease := range live {
		keep[linkName(n.o.Owner, lease)] = true
	}
	return exclusively(func() error {
		names, err := links()
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasPrefix(name, linkPrefix(n.o.Owner)) && !keep[name] {
				if err := removeLink(name); err != nil {
					return err
				}
			}
		}
		return p.uninstallIfUnused()
	})
}

// Detach removes the network of a lease that has ended. One that has none is no error.
func (n *Network) Detach(lease string) error { return Plan{Owner: n.o.Owner}.Detach(lease) }
