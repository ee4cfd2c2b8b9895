package group

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/mesh"
)

// hold opens a connection with a member that sends a byte and is silent from then on.
func (m *machine) hold(t testing.TB, index int) net.Conn {
	t.Helper()
	var c net.Conn
	require.Eventually(t, func() bool {
		var err error
		m.inside(t, func() {
			d := net.Dialer{Timeout: time.Second}
			c, err = d.Dial("tcp4", mesh.Address(index).String()+":9")
		})
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := c.Read(make([]byte, 1))
	require.NoError(t, err)
	return c
}

// silent accepts connections, sends a byte on each, and sends what comes afterwards back.
func (m *machine) silent(t testing.TB) {
	t.Helper()
	var l net.Listener
	var err error
	m.inside(t, func() { l, err = net.Listen("tcp4", ":9") })
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection
				defer c.Close()
				b := []byte{1}
				for err := error(nil); err == nil; _, err = c.Read(b) {
					_, _ = c.Write(b)
				}
			}()
		}
	}()
}

// A program that waits for an answer of a machine that is gone hears that the connection is over as soon as another machine has its
// place. Connections with other members stay.
func TestConnectionsWithAReplacedMemberEnd(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, former, other, next := w.machine(t), w.machine(t), w.machine(t), w.machine(t)
	group(t, a, former, other)
	for i, m := range []*machine{a, former, other} {
		m.connect(t, i)
		m.silent(t)
		m.agent(t)
	}
	gone, stays := a.hold(t, 1), a.hold(t, 2)

	next.connect(t, 1)
	next.silent(t)
	group(t, a, next, other)
	next.agent(t)
	require.NoError(t, gone.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := gone.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)

	_, err = stays.Write([]byte{2})
	require.NoError(t, err)
	require.NoError(t, stays.SetReadDeadline(time.Now().Add(time.Minute)))
	b := make([]byte, 1)
	_, err = stays.Read(b)
	require.NoError(t, err)
	require.Equal(t, []byte{2}, b)
	a.hold(t, 1) // the next one
}

// packet is a packet of TCP.
func packet(from, to netip.Addr, here, there uint16, ack uint32, flags byte) []byte {
	b := resetPacket(flow{to: from, here: there, there: here}, to, 7)
	binary.BigEndian.PutUint32(b[20+tcpAck:], ack)
	b[20+tcpFlags] = flags
	return b
}

func TestFlowsAreThoseThatTheContainerAcknowledges(t *testing.T) {
	me, peer, other := mesh.Address(0), mesh.Address(1), mesh.Address(2)
	f := newFlows(me)
	f.sent(packet(me, peer, 5, 80, 100, flagAck))
	f.sent(packet(me, peer, 5, 80, 200, flagAck))
	f.sent(packet(me, peer, 6, 80, 300, flagAck))
	f.sent(packet(me, peer, 6, 80, 300, flagAck|flagReset))
	f.sent(packet(me, peer, 7, 80, 400, 2)) // SYN alone: nothing is expected yet
	f.sent(packet(me, other, 5, 80, 500, flagAck))
	f.sent(packet(other, peer, 8, 80, 600, flagAck)) // not the container's
	whole := packet(me, peer, 9, 80, 700, flagAck)
	for n := range whole {
		f.sent(whole[:n]) // nothing is read past the end
	}
	ended := f.reset(peer)
	require.Len(t, ended, 1)
	p, ok := mesh.ParsePacket(ended[0])
	require.True(t, ok)
	require.Equal(t, []netip.Addr{peer, me}, []netip.Addr{p.From, p.To})
	require.Equal(t, []uint16{80, 5}, []uint16{binary.BigEndian.Uint16(p.Body), binary.BigEndian.Uint16(p.Body[2:])})
	require.Equal(t, uint32(200), binary.BigEndian.Uint32(p.Body[tcpSeq:]))
	require.Equal(t, byte(flagReset), p.Body[tcpFlags])
	require.EqualValues(t, 0, checksum(ended[0][:20], 0), "a header and its checksum add up to all ones")
	pseudo := slices.Concat(ended[0][12:20], []byte{0, mesh.TCP, 0, tcpHeader})
	require.EqualValues(t, 0, checksum(slices.Concat(pseudo, p.Body), 0))
	require.Empty(t, f.reset(peer), "they are forgotten")
	require.Len(t, f.reset(other), 1)

	for n := range 2 * maxFlows {
		f.sent(packet(me, netip.AddrFrom4([4]byte{10, 77, 0, byte(n >> 16)}), uint16(n), 1, 1, flagAck))
	}
	require.Len(t, f.next, maxFlows)
}
