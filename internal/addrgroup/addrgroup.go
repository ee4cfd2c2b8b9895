// Package addrgroup says which IP addresses are counted as one. Limits for each address mean nothing where one rented
// machine has 2⁶⁴ of them.
package addrgroup

import (
	"net/netip"
)

const (
	// Bits4 and Bits6 are how many bits the addresses of one group have in common. A customer of a hosting company, and a
	// home, gets one address of IPv4, and a /56 of IPv6 or less.
	Bits4, Bits6 = 32, 56
	// Site4 and Site6 are the same of a site: the largest that a customer gets who asks for more.
	Site4, Site6 = 24, 48
	// Network4 and Network6 are the same of a network: about what a company that hosts others has.
	Network4, Network6 = 16, 32
)

// Of is the group of an address: the address itself for IPv4, its /56 for IPv6. It is the zero prefix for what is no
// address.
func Of(ip netip.Addr) netip.Prefix { return prefix(ip, Bits4, Bits6) }

// Site is what the group lies in: a /24 of IPv4, a /48 of IPv6.
func Site(ip netip.Addr) netip.Prefix { return prefix(ip, Site4, Site6) }

// Network is what the site lies in: a /16 of IPv4, a /32 of IPv6.
func Network(ip netip.Addr) netip.Prefix { return prefix(ip, Network4, Network6) }

func prefix(ip netip.Addr, bits4, bits6 int) netip.Prefix {
	ip = Plain(ip)
	bits := bits6
	if ip.Is4() {
		bits = bits4
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address
	}
	return p
}

// The ranges of IPv6 whose addresses stand for the address of IPv4 that is in them: those of a translator (RFC 6052), and
// of the tunnels 6to4 (RFC 3056) and Teredo (RFC 4380).
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
	teredo    = netip.MustParsePrefix("2001::/32")
)

// Plain is the address without its zone, and the address of IPv4 where it stands for one.
func Plain(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if !ip.Is6() {
		return ip
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:]))
	case teredo.Contains(ip):
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	return ip
}
