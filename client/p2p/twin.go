package p2p

import (
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// withTwin returns a TCP address and the QUIC address of the same port. On
// chain a keeper has one address. Keepers listen on both, and peers try both:
// QUIC passes home routers more easily, TCP passes where UDP is blocked.
// Addresses of this machine have no twin: nothing is in between.
func withTwin(m ma.Multiaddr) []ma.Multiaddr {
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

// Twins returns an address as listened on, and its twin if it has one: see
// withTwin. What cannot be read comes back alone.
func Twins(addr string) []string {
	m, err := ma.NewMultiaddr(addr)
	if err != nil {
		return []string{addr}
	}
	var out []string
	for _, t := range withTwin(m) {
		out = append(out, t.String())
	}
	return out
}
