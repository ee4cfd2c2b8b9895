package p2p

import (
	"net/netip"
	"strconv"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Direct returns the address and port from which a peer's QUIC packets come, or, where it is connected over TCP alone, its
// address with port 0. It is invalid for a peer that is not connected, or through a relay only.
func (n *Node) Direct(key solana.PublicKey) netip.AddrPort {
	id, err := n.id(key)
	if err != nil {
		return netip.AddrPort{}
	}
	var tcp netip.AddrPort
	for _, c := range n.host.Network().ConnsToPeer(id) {
		if c.Stat().Limited || isCircuit(c.RemoteMultiaddr()) {
			continue
		}
		addr, quic := udpOf(c)
		if quic {
			return addr
		}
		tcp = addr
	}
	return tcp
}

// udpOf is where the packets of a connection come from, with port 0 if they are not QUIC's.
func udpOf(c network.Conn) (addr netip.AddrPort, quic bool) {
	m := c.RemoteMultiaddr()
	ip, err := manet.ToIP(m)
	if err != nil {
		return netip.AddrPort{}, false
	}
	a, _ := netip.AddrFromSlice(ip)
	text, err := m.ValueForProtocol(ma.P_UDP)
	if err != nil {
		return netip.AddrPortFrom(a.Unmap(), 0), false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return netip.AddrPortFrom(a.Unmap(), uint16(port)), err == nil
}
