package p2p

import (
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// withQUIC returns a TCP address and the QUIC address of the same port. On chain a keeper has one address. Keepers
// listen on both, and peers try both: QUIC passes home routers more easily, TCP passes where UDP is blocked. Loopback
// addresses come back alone, because no router is in between.
func withQUIC(m ma.Multiaddr) []ma.Multiaddr {
	out := []ma.Multiaddr{m}
	if len(m) != 2 || m[1].Code() != ma.P_TCP || manet.IsIPLoopback(m) {
		return out
	}
	port, err := m.ValueForProtocol(ma.P_TCP)
	if err != nil {
		return out
	}
	udp, err := ma.NewMultiaddr("/udp/" + port + "/quic-v1")
	if err != nil {
		return out
	}
	return append(out, ma.Join(m[:1], udp))
}

// TCPAndQUIC returns the addresses to listen on for an address: itself, and the QUIC address if it is a TCP one (see
// withQUIC). An address that cannot be parsed comes back alone.
func TCPAndQUIC(addr string) []string {
	m, err := ma.NewMultiaddr(addr)
	if err != nil {
		return []string{addr}
	}
	var out []string
	for _, a := range withQUIC(m) {
		out = append(out, a.String())
	}
	return out
}
