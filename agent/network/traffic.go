package network

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Traffic is how many bytes a lease has sent and received since it was attached.
func (n *Network) Traffic(lease string) (sent, received uint64, err error) {
	link, err := netlink.LinkByName(linkName(n.o.Owner, lease))
	if err != nil {
		return 0, 0, fmt.Errorf("network: the lease's interface: %w", err)
	}
	s := link.Attrs().Statistics
	if s == nil {
		return 0, 0, fmt.Errorf("network: the kernel keeps no counters of %s", link.Attrs().Name)
	}
	return s.RxBytes, s.TxBytes, nil // the machine's end receives what the lease sends
}
