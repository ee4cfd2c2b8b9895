package mesh

import (
	"encoding/binary"
	"net/netip"
)

// Protocols of packets of IPv4.
const (
	ICMP = 1
	TCP  = 6
	UDP  = 17
)

// Packet is a whole packet of IPv4 (RFC 791). Its slices are parts of what was parsed.
type Packet struct {
	Protocol byte
	From, To netip.Addr
	Body     []byte // after the header and its options
}

// ParsePacket takes a packet apart; false for what is no packet of IPv4, cut, or a fragment.
func ParsePacket(b []byte) (p Packet, ok bool) {
	const headerMin, moreFragments, fragmentOffset = 20, 0x2000, 0x1fff
	if len(b) < headerMin || b[0]>>4 != 4 {
		return p, false
	}
	header, whole := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if header < headerMin || whole < header || whole > len(b) || binary.BigEndian.Uint16(b[6:])&(moreFragments|fragmentOffset) != 0 {
		return p, false
	}
	return Packet{b[9], netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])), b[header:whole]}, true
}
