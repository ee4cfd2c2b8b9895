package network

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/filelock"
)

// What the machine has is read from the kernel each time: interfaces and routes come and go.

// ownNetwork names the network namespace of the calling thread, which is also what the lock is held on.
const ownNetwork = "/proc/thread-self/ns/net"

// exclusively runs f while no other process changes what agents share in this network namespace.
func exclusively(f func() error) error {
	lock, err := os.Open(ownNetwork)
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	defer lock.Close()
	if err := filelock.Wait(lock); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	return f()
}

// routes lists the routes of all tables in a family.
func routes(family int) ([]netlink.Route, error) {
	all, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, fmt.Errorf("network: routes: %w", err)
	}
	return all, nil
}

// destination of a route; the default route's has no bits.
func destination(r netlink.Route, family int) netip.Prefix {
	if r.Dst == nil {
		if family == netlink.FAMILY_V6 {
			return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	a, _ := netip.AddrFromSlice(r.Dst.IP)
	bits, _ := r.Dst.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits)
}

// links maps indices of interfaces to their names.
func links() (map[int]string, error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("network: interfaces: %w", err)
	}
	names := make(map[int]string, len(all))
	for _, l := range all {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	return names, nil
}

// uplinks are the interfaces of the default routes, in order of their names.
func uplinks(family int) ([]string, error) {
	names, err := links()
	if err != nil {
		return nil, err
	}
	all, err := routes(family)
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(index int) {
		if name := names[index]; name != "" && name != "lo" {
			out = append(out, name)
		}
	}
	for _, r := range all {
		if destination(r, family).Bits() != 0 || (r.Type != 0 && r.Type != unix.RTN_UNICAST) {
			continue
		}
		add(r.LinkIndex)
		for _, hop := range r.MultiPath {
			add(hop.LinkIndex)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// collision says which of the machine's routes or addresses a range overlaps with, or nothing. Those of leases do not count.
func collision(p netip.Prefix) (string, error) {
	family := netlink.FAMILY_V4
	if p.Addr().Is6() {
		family = netlink.FAMILY_V6
	}
	names, err := links()
	if err != nil {
		return "", err
	}
	all, err := routes(family) // addresses have routes, in the table of local ones
	if err != nil {
		return "", err
	}
	for _, r := range all {
		d := destination(r, family)
		if d.Bits() == 0 || strings.HasPrefix(names[r.LinkIndex], linkMark) || !d.Overlaps(p) {
			continue
		}
		return fmt.Sprintf("the route to %s on %s", d, names[r.LinkIndex]), nil
	}
	return "", nil
}

// setting is the path of an interface's kernel setting; "all" names them together.
func setting(family, link, name string) string {
	return filepath.Join("/proc/sys/net", family, "conf", link, name)
}

func readSetting(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("network: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func writeSetting(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	return nil
}

// setLink sets kernel settings of a new interface. A kernel without IPv6 has none of its settings.
func setLink(link string, ipv6 bool) error {
	disabled := "1"
	if ipv6 {
		disabled = "0"
	}
	for _, s := range []struct{ family, name, value string }{
		{"ipv6", "accept_ra", "0"},
		{"ipv6", "addr_gen_mode", "1"}, // no link-local address
		{"ipv6", "disable_ipv6", disabled},
		{"ipv4", "arp_ignore", "8"}, // neighbours are entered by hand: the machine tells no lease which addresses it has
		{"ipv4", "forwarding", "1"},
	} {
		err := writeSetting(setting(s.family, link, s.name), s.value)
		if errors.Is(err, fs.ErrNotExist) && s.family == "ipv6" && !ipv6 {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forwards6 reports whether the machine routes IPv6 already. It is not switched on here: that would make a machine deaf to
// the router advertisements by which most get their own default route.
func forwards6() bool {
	v, err := readSetting(setting("ipv6", "all", "forwarding"))
	return err == nil && v == "1"
}
