package network

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inside is the name that a lease's interface has in its namespace.
const inside = "eth0"

// Attach connects the network namespace of a process, which must be its own and empty, and returns its addresses.
func (p *Plan) Attach(lease string, pid int) (addrs []netip.Addr, err error) {
	err = exclusively(func() error {
		// The rules come first: an interface without them would be an open door.
		if err := p.Apply(); err != nil {
			return err
		}
		addrs, err = p.connect(lease, pid)
		if err != nil {
			err = errors.Join(err, p.detach(lease))
		}
		return err
	})
	return addrs, err
}

// Detach removes what Attach has made.
func (p Plan) Detach(lease string) error {
	return exclusively(func() error { return p.detach(lease) })
}

func (p Plan) detach(lease string) error {
	if err := removeLink(linkName(p.Owner, lease)); err != nil {
		return err
	}
	return p.uninstallIfUnused()
}

func removeLink(name string) error {
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(l)
	}
	if errors.As(err, &netlink.LinkNotFoundError{}) || errors.Is(err, unix.ENODEV) {
		return nil // the kernel removes it by itself once its namespace is gone
	}
	if err != nil {
		return fmt.Errorf("network: remove %s: %w", name, err)
	}
	return nil
}

// connect makes the pair of interfaces, and gives both ends what they need.
func (p Plan) connect(lease string, pid int) ([]netip.Addr, error) {
	mtu, err := p.mtu()
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = linkName(p.Owner, lease), mtu
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: inside, PeerNamespace: netlink.NsPid(pid), PeerMTU: uint32(mtu)}
	if err := netlink.LinkAdd(pair); err != nil {
		return nil, fmt.Errorf("network: make %s: %w", attrs.Name, err)
	}
	host, err := netlink.LinkByName(attrs.Name)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	if err := errors.Join(netlink.LinkSetAlias(host, "gantry lease "+lease), setLink(attrs.Name, p.IPv6), netlink.LinkSetUp(host)); err != nil {
		return nil, fmt.Errorf("network: set up %s: %w", attrs.Name, err)
	}
	addrs, err := p.take(host)
	if err != nil {
		return nil, err
	}
	var mac net.HardwareAddr
	err = within(pid, func() error {
		mac, err = p.furnish(addrs, host.Attrs().HardwareAddr)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("network: inside of the namespace: %w", err)
	}
	for _, a := range addrs {
		if err := netlink.NeighSet(neighbour(host, a, mac)); err != nil {
			return nil, fmt.Errorf("network: neighbour %s: %w", a, err)
		}
	}
	return addrs, p.limit(host)
}

// take finds a free address, and routes it to the interface. A route can be added once only, so that two leases cannot have
// the same one.
func (p Plan) take(host netlink.Link) ([]netip.Addr, error) {
	gateway := p.Pool.Addr().Next()
	if err := netlink.AddrAdd(host, address(gateway)); err != nil {
		return nil, fmt.Errorf("network: address %s: %w", gateway, err)
	}
	for a := gateway.Next(); p.Pool.Contains(a); a = a.Next() {
		err := netlink.RouteAdd(toLease(host, a, gateway))
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil || !p.IPv6 {
			return []netip.Addr{a}, wrap("route to "+a.String(), err)
		}
		g6, a6 := p.gateway6(), p.address6(a)
		err = errors.Join(netlink.AddrAdd(host, address(g6)), netlink.RouteAdd(toLease(host, a6, g6)))
		return []netip.Addr{a, a6}, wrap("route to "+a6.String(), err)
	}
	return nil, fmt.Errorf("network: every address of %s is taken", p.Pool)
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("network: %s: %w", what, err)
	}
	return nil
}

func toLease(host netlink.Link, a, gateway netip.Addr) *netlink.Route {
	r := &netlink.Route{LinkIndex: host.Attrs().Index, Dst: ipNet(a), Scope: netlink.SCOPE_LINK}
	if a.Is4() {
		r.Src = gateway.AsSlice()
	} else {
		r.Scope = netlink.SCOPE_UNIVERSE
	}
	return r
}

func (p Plan) gateway6() netip.Addr { return pool6(p.Owner).Addr().Next() }

// address6 numbers a lease's address of IPv6 as its one of IPv4.
func (p Plan) address6(a netip.Addr) netip.Addr {
	sum := new(big.Int).SetBytes(pool6(p.Owner).Addr().AsSlice())
	b := a.As4()
	sum.Add(sum, new(big.Int).SetBytes(b[:]))
	out, _ := netip.AddrFromSlice(sum.FillBytes(make([]byte, 16)))
	return out
}

func ipNet(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

// address is one that brings no route along.
func address(a netip.Addr) *netlink.Addr {
	out := &netlink.Addr{IPNet: ipNet(a)}
	if a.Is6() {
		out.Flags = unix.IFA_F_NODAD // it can be used at once
	}
	return out
}

func neighbour(l netlink.Link, a netip.Addr, mac net.HardwareAddr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: mac}
}

// furnish configures the lease's own end; the sandbox reads addresses, routes and neighbours from it when it takes it over.
func (p Plan) furnish(addrs []netip.Addr, gatewayMAC net.HardwareAddr) (net.HardwareAddr, error) {
	own, err := netlink.LinkByName(inside)
	if err != nil {
		return nil, err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(setLink(inside, p.IPv6), netlink.LinkSetUp(lo), netlink.LinkSetUp(own), p.limit(own)); err != nil {
		return nil, err
	}
	for _, a := range addrs {
		gateway := p.Pool.Addr().Next()
		if a.Is6() {
			gateway = p.gateway6()
		}
		err := errors.Join(
			netlink.AddrAdd(own, address(a)),
			netlink.RouteAdd(&netlink.Route{LinkIndex: own.Attrs().Index, Dst: ipNet(gateway), Scope: netlink.SCOPE_LINK}),
			netlink.RouteAdd(&netlink.Route{LinkIndex: own.Attrs().Index, Gw: gateway.AsSlice()}),
			netlink.NeighSet(neighbour(own, gateway, gatewayMAC)),
		)
		if err != nil {
			return nil, err
		}
	}
	return own.Attrs().HardwareAddr, nil
}

// within runs f in the network namespace of a process.
func within(pid int, f func() error) error {
	return apart(func() error {
		ns, err := netns.GetFromPid(pid)
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := netns.Set(ns); err != nil {
			return err
		}
		return f()
	})
}

// mtu is the smallest of the interfaces by which packets leave.
func (p Plan) mtu() (int, error) {
	up, err := p.uplinks()
	if err != nil {
		return 0, err
	}
	mtu := 1500
	for _, name := range up {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return 0, fmt.Errorf("network: %w", err)
		}
		mtu = min(mtu, l.Attrs().MTU)
	}
	return mtu, nil
}

// limit bounds what leaves by an interface: at the machine's end that is what the lease receives, at the other what it sends.
func (p Plan) limit(l netlink.Link) error {
	if p.Mbit == 0 {
		return nil
	}
	rate := uint64(p.Mbit) * 1e6 / 8 // bytes a second
	burst := uint32(max(rate/100, 64<<10))
	q := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       rate, Buffer: netlink.Xmittime(rate, burst), Limit: uint32(min(rate/10+uint64(burst), 1<<30)),
	}
	return wrap("limit "+l.Attrs().Name, netlink.QdiscReplace(q))
}

// Resolv is the contents of a container's resolv.conf.
func (p Plan) Resolv() string {
	var b strings.Builder
	for _, a := range p.DNS {
		if a.Is4() || p.IPv6 {
			fmt.Fprintf(&b, "nameserver %s\n", a)
		}
	}
	return b.String()
}
