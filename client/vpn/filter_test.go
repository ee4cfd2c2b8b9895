package vpn

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/mesh"
)

const ipv4HeaderMin = 20

// packet is one of IPv4.
func packet(protocol byte, from, to netip.Addr, body ...byte) []byte {
	p := make([]byte, ipv4HeaderMin, ipv4HeaderMin+len(body))
	p[0], p[9] = 0x45, protocol
	binary.BigEndian.PutUint16(p[2:], uint16(ipv4HeaderMin+len(body)))
	copy(p[12:], from.AsSlice())
	copy(p[16:], to.AsSlice())
	return append(p, body...)
}

func tcpPacket(from, to netip.Addr, flags byte) []byte {
	body := make([]byte, tcpHeaderMin)
	body[13] = flags
	return packet(mesh.TCP, from, to, body...)
}

func udpPacket(from, to netip.Addr, source, target byte) []byte {
	return packet(mesh.UDP, from, to, 0, source, 0, target, 0, udpHeader, 0, 0)
}

func ping(kind byte, from, to netip.Addr, id byte) []byte {
	return packet(mesh.ICMP, from, to, kind, 0, 0, 0, 0, id, 0, 1)
}

func TestMembersSendAnswersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		me, node, other := mesh.Visitor, mesh.Address(0), mesh.Address(1)
		f := newFilter(nil, me)
		require.False(t, f.answers(tcpPacket(node, me, tcpSYN)), "a connection to this computer")
		require.True(t, f.answers(tcpPacket(node, me, tcpSYN|tcpACK)))
		require.True(t, f.answers(tcpPacket(node, me, tcpACK)))
		require.False(t, f.answers(tcpPacket(node, netip.MustParseAddr("192.168.1.5"), tcpACK)), "through this computer, or to its other address")

		require.False(t, f.answers(udpPacket(node, me, 53, 40)))
		f.sent(udpPacket(me, node, 40, 53))
		require.True(t, f.answers(udpPacket(node, me, 53, 40)))
		require.False(t, f.answers(udpPacket(node, me, 53, 41)))
		require.False(t, f.answers(udpPacket(other, me, 53, 40)))

		require.False(t, f.answers(ping(icmpEcho, node, me, 1)))
		require.False(t, f.answers(ping(icmpEchoReply, node, me, 1)))
		f.sent(ping(icmpEcho, me, node, 1))
		require.True(t, f.answers(ping(icmpEchoReply, node, me, 1)))
		require.True(t, f.answers(ping(icmpUnreachable, node, me, 0)))

		require.False(t, f.answers(packet(47, node, me, 1, 2, 3, 4)), "another protocol")
		fragment := udpPacket(node, me, 53, 40)
		fragment[6] = 0x20
		require.False(t, f.answers(fragment))
		for n := range len(udpPacket(node, me, 53, 40)) {
			require.False(t, f.answers(udpPacket(node, me, 53, 40)[:n]), "%d bytes of a packet", n)
		}
		require.False(t, f.answers(append([]byte{0x60}, make([]byte, 60)...)), "IPv6")

		time.Sleep(flowLife)
		require.False(t, f.answers(udpPacket(node, me, 53, 40)), "long ago")
		for i := range flowsMax + 10 {
			p := udpPacket(me, node, 40, 53)
			binary.BigEndian.PutUint16(p[ipv4HeaderMin:], uint16(i))
			binary.BigEndian.PutUint16(p[ipv4HeaderMin+2:], uint16(i>>8))
			f.sent(p)
		}
		require.LessOrEqual(t, len(f.flows), flowsMax)
	})
}
