package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	segmentsMax = 64      // the kernel's limit for one call (UDP_MAX_SEGMENTS)
	payloadMax  = 0xffc8  // of an IPv6 packet without a jumbo header, less the UDP header; IPv4's is larger by none that matters
	largeLen    = 1 << 16 // of a buffer that collects segments
)

var large = sync.Pool{New: func() any { return new([largeLen]byte) }}

// send sends packets to one address, as many in one call as the kernel takes (UDP_SEGMENT, Linux 4.18).
func (s *socket) send(bufs [][]byte, to netip.AddrPort) error {
	for len(bufs) > 0 {
		n := run(bufs)
		if n == 1 || s.noGSO.Load() {
			if _, err := s.WriteToUDPAddrPort(bufs[0], to); err != nil {
				return fmt.Errorf("mesh: send: %w", err)
			}
			bufs = bufs[1:]
			continue
		}
		err := s.sendLarge(bufs[:n], to)
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) {
			s.noGSO.Store(true) // the interface makes no checksums: udp(7)
			continue
		}
		if err != nil {
			return fmt.Errorf("mesh: send: %w", err)
		}
		bufs = bufs[n:]
	}
	return nil
}

// run is how many of the first packets go together: equal lengths, where the last may be shorter.
func run(bufs [][]byte) int {
	size, total := len(bufs[0]), 0
	for i, b := range bufs {
		total += len(b)
		if i == segmentsMax || len(b) > size || total > payloadMax {
			return i
		}
		if len(b) < size {
			return i + 1
		}
	}
	return len(bufs)
}

func (s *socket) sendLarge(bufs [][]byte, to netip.AddrPort) error {
	buf := large.Get().(*[largeLen]byte)
	defer large.Put(buf)
	n := 0
	for _, b := range bufs {
		n += copy(buf[n:], b)
	}
	_, _, err := s.WriteMsgUDPAddrPort(buf[:n], segmentSize(len(bufs[0])), to)
	return err //nolint:wrapcheck // wrapped by send
}

// segmentSize is the control message of UDP_SEGMENT (udp(7)).
func segmentSize(n int) []byte {
	const valueLen = 2
	oob := make([]byte, unix.CmsgSpace(valueLen))
	binary.NativeEndian.PutUint64(oob, uint64(unix.CmsgLen(valueLen)))
	binary.NativeEndian.PutUint32(oob[8:], unix.SOL_UDP)
	binary.NativeEndian.PutUint32(oob[12:], unix.UDP_SEGMENT)
	binary.NativeEndian.PutUint16(oob[unix.CmsgLen(0):], uint16(n))
	return oob
}
