package p2p

import (
	"net/netip"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/gantry-market/gantry/internal/addrgroup"
)

// origin is where a connection comes from, from the narrowest to the widest: address group, site, network, and all.
type origin [4]string

// originOf is the origin of a peer at an address. Through a relay the peer's own address is not known: the peer is a group
// of its own there, and the relay its site.
func originOf(id peer.ID, at ma.Multiaddr) origin {
	if isCircuit(at) {
		relay, _ := relayOf(at)
		return origin{"relayed/" + string(relay) + string(id), "relay/" + string(relay), "relays"}
	}
	ip := ipOf(at)
	return origin{addrgroup.Of(ip).String(), addrgroup.Site(ip).String(), addrgroup.Network(ip).String()}
}

// ipOf is the IP address in a multiaddress; the zero address when there is none.
func ipOf(at ma.Multiaddr) netip.Addr {
	if at == nil {
		return netip.Addr{}
	}
	raw, err := manet.ToIP(at)
	if err != nil {
		return netip.Addr{}
	}
	ip, _ := netip.AddrFromSlice(raw)
	return ip
}

// places are shared by those who have shown nothing yet, so that some of them cannot take the places of all. The caller
// holds a lock.
type places struct {
	most  [4]int // of each part of an origin
	taken [4]map[string]int
}

// newPlaces are so many in all: half of them for one network, a quarter for one site, group for one address group.
func newPlaces(most, group int) places {
	return places{most: [4]int{group, most / 4, most / 2, most}, taken: [4]map[string]int{{}, {}, {}, {}}}
}

// take takes a place. A group that has one gets no further one once half of the places are taken, of all or of those of
// its site or network: the rest is for groups that have none.
func (p *places) take(from origin) bool {
	has := p.taken[0][from[0]] > 0
	for i, part := range from {
		n := p.taken[i][part]
		if n >= p.most[i] || i > 0 && has && n >= p.most[i]/2 {
			return false
		}
	}
	for i, part := range from {
		p.taken[i][part]++
	}
	return true
}

// free gives a place back.
func (p *places) free(from origin) {
	for i, part := range from {
		if p.taken[i][part]--; p.taken[i][part] <= 0 {
			delete(p.taken[i], part)
		}
	}
}
