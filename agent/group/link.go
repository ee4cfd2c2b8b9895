package group

import (
	"fmt"
	"net/netip"

	"golang.zx2c4.com/wireguard/tun"

	"github.com/gantry-market/gantry/sdk/mesh"
)

// link is an interface in another network namespace. wireguard-go reads and writes it as its own.
type link struct {
	tun.Device

	flows *flows
}

// newLink takes over the descriptor of the open interface of a container with an address, also where it fails.
func newLink(fd int, container netip.Addr) (*link, error) {
	d, _, err := tun.CreateUnmonitoredTUNFromFD(fd)
	if err != nil {
		return nil, fmt.Errorf("private network: %w", err) // its file closes the descriptor when it is collected
	}
	return &link{d, newFlows(container)}, nil
}

// MTU is that with which the interface was made. wireguard-go would ask for it by name, which means nothing, or something else,
// in the agent's namespace.
func (l *link) MTU() (int, error) { return mesh.MTU, nil }

// Read reads what the container sends.
func (l *link) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	n, err := l.Device.Read(bufs, sizes, offset)
	for i := range n {
		l.flows.sent(bufs[i][offset : offset+sizes[i]])
	}
	return n, err //nolint:wrapcheck // wireguard-go looks at the error
}

// headroom is what a write needs before a packet, for the header of the interface (virtio_net_hdr).
const headroom = 10

// reset ends the container's TCP connections with an address, and returns how many there were. Error: that of a write.
func (l *link) reset(to netip.Addr) (int, error) {
	packets := l.flows.reset(to)
	for _, p := range packets {
		if _, err := l.Write([][]byte{append(make([]byte, headroom), p...)}, headroom); err != nil {
			return 0, fmt.Errorf("reset of a connection: %w", err)
		}
	}
	return len(packets), nil
}
