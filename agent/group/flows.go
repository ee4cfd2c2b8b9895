package group

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"github.com/gantry-market/gantry/sdk/mesh"
)

// maxFlows bounds the connections that are remembered for a container. Beyond it any is forgotten.
const maxFlows = 1 << 14

// flow is a TCP connection of the container.
type flow struct {
	to          netip.Addr
	here, there uint16 // ports
}

// flows remember the container's TCP connections. A member that fails says no goodbye, and the container that takes its address
// knows nothing of its connections. A program that waits for an answer would wait until its own keepalive, for minutes: so these
// connections are reset.
type flows struct {
	from netip.Addr // the container

	mu sync.Mutex
	// next is the sequence number that the container expects, which is what it has acknowledged.
	next map[flow]uint32
}

func newFlows(from netip.Addr) *flows { return &flows{from: from, next: map[flow]uint32{}} }

// Fields of a TCP header (RFC 9293).
const (
	tcpHeader                                   = 20
	tcpSeq, tcpAck, tcpOffset, tcpFlags, tcpSum = 4, 8, 12, 13, 16
	flagReset, flagAck                          = 1 << 2, 1 << 4
)

// sent takes note of a packet of the container's.
func (f *flows) sent(packet []byte) {
	p, ok := mesh.ParsePacket(packet)
	if !ok || p.Protocol != mesh.TCP || len(p.Body) < tcpHeader || p.From != f.from {
		return
	}
	at := flow{to: p.To, here: binary.BigEndian.Uint16(p.Body), there: binary.BigEndian.Uint16(p.Body[2:])}
	flags := p.Body[tcpFlags]
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case flags&flagReset != 0:
		delete(f.next, at)
	case flags&flagAck != 0:
		if _, known := f.next[at]; !known && len(f.next) >= maxFlows {
			for other := range f.next {
				delete(f.next, other)
				break
			}
		}
		f.next[at] = binary.BigEndian.Uint32(p.Body[tcpAck:])
	}
}

// reset forgets the connections to an address, and returns the packets that end them.
func (f *flows) reset(to netip.Addr) (packets [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, next := range f.next {
		if at.to == to {
			packets = append(packets, resetPacket(at, f.from, next))
			delete(f.next, at)
		}
	}
	return packets
}

// resetPacket is what ends a connection of the container that has an address, as if the other side had sent it.
func resetPacket(at flow, container netip.Addr, next uint32) []byte {
	const header, whole, ttl = 20, 40, 64
	b := make([]byte, whole)
	b[0] = 4<<4 | header/4
	binary.BigEndian.PutUint16(b[2:], whole)
	b[8], b[9] = ttl, mesh.TCP
	from, to := at.to.As4(), container.As4()
	copy(b[12:], from[:])
	copy(b[16:], to[:])
	binary.BigEndian.PutUint16(b[10:], checksum(b[:header], 0))
	t := b[header:]
	binary.BigEndian.PutUint16(t, at.there)
	binary.BigEndian.PutUint16(t[2:], at.here)
	binary.BigEndian.PutUint32(t[tcpSeq:], next)
	t[tcpOffset], t[tcpFlags] = tcpHeader/4<<4, flagReset
	binary.BigEndian.PutUint16(t[tcpSum:], checksum(t, checksumOf(b[12:header], mesh.TCP+tcpHeader)))
	return b
}

// checksum is that of RFC 1071, of words that come after a sum.
func checksum(b []byte, before uint32) uint16 { return ^uint16(checksumOf(b, before)) }

// checksumOf adds words of 16 bits to a sum, and folds it.
func checksumOf(b []byte, sum uint32) uint32 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}
