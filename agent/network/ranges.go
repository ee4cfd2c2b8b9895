package network

import "net/netip"

// special4 are the ranges of IPv4 that are not the internet: what the registry of special-purpose addresses (RFC 6890 and
// its successors) calls not globally reachable, the deprecated relays of 6to4, multicast and what is reserved, and an
// address of the public space at which a cloud answers its own machines.
var special4 = prefixes(
	"0.0.0.0/8",
	"10.0.0.0/8",
	"100.64.0.0/10",
	"127.0.0.0/8",
	"169.254.0.0/16", // link-local, and the metadata of most clouds
	"172.16.0.0/12",
	"192.0.0.0/24",
	"192.0.2.0/24",
	"192.88.99.0/24",
	"192.168.0.0/16",
	"198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24",
	"224.0.0.0/4",
	"240.0.0.0/4",
	"168.63.129.16/32", // Azure's platform service
)

// global6 is all of IPv6 that is given out for the internet. Everything else is refused: loopback, link-local, unique local
// (fd00:ec2::254 among them), multicast, mapped and translated addresses.
var global6 = netip.MustParsePrefix("2000::/3")

// special6 are the ranges within global6 that are not the internet, or lead to others by a tunnel.
var special6 = prefixes(
	"2001::/23", // protocol assignments, Teredo among them
	"2001:db8::/32",
	"2002::/16", // 6to4
	"3fff::/20",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Public reports whether an address is one of the internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	ranges := special4
	if a.Is6() {
		if !global6.Contains(a) {
			return false
		}
		ranges = special6
	}
	for _, p := range ranges {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}
