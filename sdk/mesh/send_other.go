//go:build !linux

package mesh

import (
	"fmt"
	"net/netip"
)

// send sends packets to one address.
func (s *socket) send(bufs [][]byte, to netip.AddrPort) error {
	for _, b := range bufs {
		if _, err := s.WriteToUDPAddrPort(b, to); err != nil {
			return fmt.Errorf("mesh: send: %w", err)
		}
	}
	return nil
}
