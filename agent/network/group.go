package network

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tunPath is the device by which programs make and open TUN interfaces.
const tunPath = "/dev/net/tun"

// tunOffloads let TCP pass in large pieces. The sandbox looks for them when it takes the interface over, so they are set
// when it is made.
const tunOffloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6

// Group is the interface of a private network in a lease's namespace.
type Group struct {
	Interface string       `json:"interface"`
	Addr      netip.Addr   `json:"addr"`
	Range     netip.Prefix `json:"range"`
	MTU       int          `json:"mtu"`
	Mbit      uint32       `json:"mbit,omitempty"` // that the lease may send; 0: no limit
}

// AddGroup gives the network namespace of a process an interface of a private network. What a container sends there goes to the
// program that has the interface open (OpenGroup), and is lost while no program has. The machine's own namespace does not see it.
// The interface stays when that program ends, and goes with the namespace.
func AddGroup(pid int, g Group) error {
	return within(pid, func() error {
		fd, err := openTUN(g.Interface)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tunOffloads); err != nil {
			return fmt.Errorf("network: offloads of %s: %w", g.Interface, err)
		}
		if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
			return fmt.Errorf("network: keep %s: %w", g.Interface, err)
		}
		link, err := netlink.LinkByName(g.Interface)
		if err != nil {
			return fmt.Errorf("network: %w", err)
		}
		// It forwards nothing: a new namespace would where the machine does.
		if err := writeSetting(setting("ipv4", g.Interface, "forwarding"), "0"); err != nil {
			return err
		}
		// No link-local address.
		if err := writeSetting(setting("ipv6", g.Interface, "disable_ipv6"), "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := netlink.LinkSetMTU(link, g.MTU); err != nil {
			return wrap("MTU of "+g.Interface, err)
		}
		own := &netlink.Addr{IPNet: &net.IPNet{IP: g.Addr.AsSlice(), Mask: net.CIDRMask(g.Range.Bits(), g.Addr.BitLen())}}
		if err := netlink.AddrAdd(link, own); err != nil { // with the route to the range
			return wrap("address of "+g.Interface, err)
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return fmt.Errorf("network: %w", err)
		}
		if err := errors.Join(netlink.LinkSetUp(lo), netlink.LinkSetUp(link)); err != nil {
			return wrap("set up "+g.Interface, err)
		}
		return Plan{Mbit: g.Mbit}.limit(link)
	})
}

// CheckGroup says why containers could have no private network on this machine, or nothing.
func CheckGroup() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: its agent does not run as root", ErrUnavailable)
	}
	return apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("%w: its agent may not make network namespaces (CAP_SYS_ADMIN): %w", ErrUnavailable, err)
		}
		fd, err := openTUN("probe")
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return unix.Close(fd)
	})
}

// OpenGroup opens the interface that AddGroup has made in the namespace of a process, and returns its descriptor, which the
// caller closes. One program has it open at a time.
func OpenGroup(pid int, name string) (fd int, err error) {
	err = within(pid, func() error {
		if _, err := netlink.LinkByName(name); err != nil { // openTUN would make one without an address
			return fmt.Errorf("network: interface %s: %w", name, err)
		}
		fd, err = openTUN(name)
		return err
	})
	return fd, err
}

// openTUN opens an interface of the thread's namespace, and makes it if it is not there.
func openTUN(name string) (int, error) {
	fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, fmt.Errorf("network: open %s (is the module tun loaded?): %w", tunPath, err)
	}
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("network: interface %s: %w", name, err)
	}
	return fd, nil
}
