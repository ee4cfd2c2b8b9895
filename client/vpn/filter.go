package vpn

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.zx2c4.com/wireguard/tun"

	"github.com/gantry-market/gantry/sdk/mesh"
)

const (
	flowLife = 3 * time.Minute
	flowsMax = 1 << 14
)

// Flags, types of messages and sizes of headers (RFC 768, 792, 9293).
const (
	tcpSYN, tcpACK = 0x02, 0x10

	icmpEchoReply, icmpUnreachable, icmpEcho, icmpTimeExceeded = 0, 3, 8, 11

	tcpHeaderMin, udpHeader, icmpHeader = 20, 8, 8
)

// filter is an interface into which members send answers alone: packets of TCP connections that this computer has begun, of UDP
// exchanges likewise, and answers to its pings, to its address in the network. Fragments and other protocols are dropped.
type filter struct {
	tun.Device
	own netip.Addr

	mu    sync.Mutex
	flows map[flow]time.Time
}

// flow is what this computer has sent to a member.
type flow struct {
	protocol    byte
	peer        netip.Addr
	here, there uint16 // ports; a ping's identifier
}

func newFilter(t tun.Device, own netip.Addr) *filter {
	return &filter{Device: t, own: own, flows: map[flow]time.Time{}}
}

// Read reads what this computer sends.
func (f *filter) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	n, err := f.Device.Read(bufs, sizes, offset)
	if n > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i := range n {
			f.sent(bufs[i][offset : offset+sizes[i]])
		}
	}
	return n, err //nolint:wrapcheck // wireguard-go looks at the error
}

// Write takes what members send.
func (f *filter) Write(bufs [][]byte, offset int) (int, error) {
	kept := make([][]byte, 0, len(bufs))
	f.mu.Lock()
	for _, b := range bufs {
		if len(b) > offset && f.answers(b[offset:]) {
			kept = append(kept, b)
		}
	}
	f.mu.Unlock()
	if len(kept) == 0 {
		return len(bufs), nil
	}
	n, err := f.Device.Write(kept, offset)
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EINVAL) {
		err = nil // the kernel does not take a packet of a member: no reason to end the interface
	}
	return len(bufs) - len(kept) + n, err //nolint:wrapcheck // wireguard-go looks at the error
}

func (f *filter) sent(packet []byte) {
	p, ok := mesh.ParsePacket(packet)
	if !ok {
		return
	}
	key, ok := flowOf(p.Protocol, p.To, p.Body, true)
	if !ok {
		return
	}
	now := time.Now()
	if _, known := f.flows[key]; !known && len(f.flows) >= flowsMax {
		for k, at := range f.flows {
			if now.Sub(at) > flowLife {
				delete(f.flows, k)
			}
		}
		if len(f.flows) >= flowsMax {
			clear(f.flows)
		}
	}
	f.flows[key] = now
}

// answers reports whether a packet belongs to what this computer has begun.
func (f *filter) answers(packet []byte) bool {
	p, ok := mesh.ParsePacket(packet)
	if !ok || p.To != f.own { // the kernel would take it at any address of the computer, and pass it on where it is a router
		return false
	}
	switch p.Protocol {
	case mesh.TCP:
		// The kernel answers everything but the first packet of a connection by the connections that it has.
		return len(p.Body) >= tcpHeaderMin && p.Body[13]&(tcpSYN|tcpACK) != tcpSYN
	case mesh.ICMP:
		if len(p.Body) >= icmpHeader && (p.Body[0] == icmpUnreachable || p.Body[0] == icmpTimeExceeded) {
			return true
		}
	}
	key, ok := flowOf(p.Protocol, p.From, p.Body, false)
	return ok && time.Since(f.flows[key]) < flowLife
}

// flowOf is the exchange that a packet belongs to: out says that this computer sends it.
func flowOf(protocol byte, peer netip.Addr, body []byte, out bool) (flow, bool) {
	k := flow{protocol: protocol, peer: peer}
	switch {
	case protocol == mesh.UDP && len(body) >= udpHeader:
		k.here, k.there = binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:])
		if !out {
			k.here, k.there = k.there, k.here
		}
		return k, true
	case protocol == mesh.ICMP && len(body) >= icmpHeader && (out && body[0] == icmpEcho || !out && body[0] == icmpEchoReply):
		k.here = binary.BigEndian.Uint16(body[4:])
		return k, true
	}
	return k, false
}
