package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/net/ipv4"
)

const readAtOnce = 16 // packets, where QUIC does not read

// Port is the set of UDP sockets of one node, shared by QUIC and the node's WireGuard devices. The zero value is ready.
type Port struct {
	mu      sync.RWMutex
	sockets []*socket
	devices devices

	foreign atomic.Uint64
}

// ListenUDP opens a socket for QUIC; it is what quicreuse.OverrideListenUDP takes.
func (p *Port) ListenUDP(network string, laddr *net.UDPAddr) (net.PacketConn, error) {
	c, err := net.ListenUDP(network, laddr)
	if err != nil {
		return nil, err //nolint:wrapcheck // libp2p looks at the error
	}
	s := &socket{UDPConn: c, batch: ipv4.NewPacketConn(c), port: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sockets = append(p.sockets, s)
	return s, nil
}

// Number is the UDP port of the node, 0 if it has no socket.
func (p *Port) Number() uint16 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, s := range p.sockets {
		return s.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	}
	return 0
}

// Serve opens a socket for a node that has none, because it does not speak QUIC, and reads it until ctx ends.
func (p *Port) Serve(ctx context.Context, laddr netip.AddrPort) error {
	network := "udp6"
	if laddr.Addr().Is4() {
		network = "udp4" // with "udp" and 0.0.0.0 the socket would be one of IPv6, which socketTo does not take for IPv4
	}
	c, err := p.ListenUDP(network, net.UDPAddrFromAddrPort(laddr))
	if err != nil {
		return fmt.Errorf("mesh: listen: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	ms := make([]ipv4.Message, readAtOnce)
	for i := range ms {
		ms[i].Buffers = [][]byte{make([]byte, packetMax)}
	}
	for {
		if _, err := c.(*socket).ReadBatch(ms, 0); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return errors.Join(fmt.Errorf("mesh: read: %w", err), c.Close())
		}
	}
}

// Foreign is the number of packets that were neither QUIC nor for a device of this node.
func (p *Port) Foreign() uint64 { return p.foreign.Load() }

// socketTo returns the socket from which packets to an address leave, or nil: one that listens on all interfaces, as QUIC
// prefers it, so that the packets pass the hole that QUIC opened.
func (p *Port) socketTo(to netip.Addr) *socket {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var other *socket
	for _, s := range p.sockets {
		local := s.local()
		switch {
		case local.Is4() != to.Is4():
		case local.IsUnspecified():
			return s
		case local.IsLoopback() == to.IsLoopback():
			other = s
		}
	}
	return other
}

// socket is a UDP socket that hands WireGuard's packets to its port when QUIC reads.
type socket struct {
	*net.UDPConn
	batch *ipv4.PacketConn // quic-go uses it for IPv6 as well: the messages are the same
	port  *Port
	last  atomic.Pointer[Endpoint] // from which the last packet came: most come from the same one
	noGSO atomic.Bool              // the interface cannot cut large packets
}

func (s *socket) local() netip.Addr {
	return s.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}

// ReadBatch reads packets of QUIC. quic-go calls it in place of reading the descriptor.
func (s *socket) ReadBatch(ms []ipv4.Message, flags int) (int, error) {
	for {
		n, err := s.batch.ReadBatch(ms, flags)
		if n = s.sort(ms[:max(n, 0)]); n > 0 || err != nil {
			return n, err //nolint:wrapcheck // quic-go looks at the error
		}
	}
}

// sort delivers WireGuard's packets, and moves those of QUIC to the front. It copies contents and leaves buffers where they
// are, because quic-go keeps a buffer for each place.
func (s *socket) sort(ms []ipv4.Message) int {
	kept := 0
	for i := range ms {
		m := &ms[i]
		if m.N > 0 && m.Buffers[0][0]&0xc0 == 0 {
			if from, ok := m.Addr.(*net.UDPAddr); ok {
				s.port.devices.deliver(s.endpoint(from.AddrPort()), m.Buffers[0][:m.N], &s.port.foreign)
			}
			continue
		}
		if kept != i {
			to := &ms[kept]
			copy(to.Buffers[0], m.Buffers[0][:m.N])
			copy(to.OOB, m.OOB[:m.NN])
			to.N, to.NN, to.Flags, to.Addr = m.N, m.NN, m.Flags, m.Addr
		}
		kept++
	}
	return kept
}

func (s *socket) endpoint(from netip.AddrPort) *Endpoint {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	if last := s.last.Load(); last != nil && last.addr == from {
		return last
	}
	e := &Endpoint{addr: from, socket: s}
	s.last.Store(e)
	return e
}

// Close closes the socket.
func (s *socket) Close() error {
	s.port.mu.Lock()
	for i, other := range s.port.sockets {
		if other == s {
			s.port.sockets = append(s.port.sockets[:i:i], s.port.sockets[i+1:]...)
			break
		}
	}
	s.port.mu.Unlock()
	return s.UDPConn.Close() //nolint:wrapcheck // libp2p looks at the error
}
