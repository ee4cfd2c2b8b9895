package machine

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// A link between the machine and the network namespace that it was started in, as between two computers.
const (
	// LinkHost is the machine's address on it, LinkPeer the other end's.
	LinkHost = "12.0.0.1"
	LinkPeer = "12.0.0.2"

	linkName = "link0"
	// linkBurst, bytes, is what an end sends at once at most, and linkQueue what waits there: 16 ms at 1 Gbit/s.
	linkBurst = 256 << 10
	linkQueue = 2 << 20
)

// link ties the machine to the calling thread's network namespace, with so many Mbit/s each way.
func link(own space, mbits int) error {
	outer, err := netns.Get()
	if err != nil {
		return fmt.Errorf("machine: the link: %w", err)
	}
	defer outer.Close()
	err = own.do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = linkName
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: linkName, PeerNamespace: netlink.NsFd(outer)}); err != nil {
			return err
		}
		return errors.Join(up(linkName, LinkHost+"/30"), limit(linkName, mbits))
	})
	if err != nil {
		return fmt.Errorf("machine: its end of the link: %w", err)
	}
	if err := errors.Join(up(linkName, LinkPeer+"/30"), limit(linkName, mbits)); err != nil {
		return fmt.Errorf("machine: the other end of the link: %w", err)
	}
	return nil
}

// limit has an interface send so many Mbit/s.
func limit(name string, mbits int) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	rate := uint64(mbits) * 1_000_000 / 8
	return netlink.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       rate, Limit: linkQueue, Buffer: netlink.Xmittime(rate, linkBurst),
	})
}

// LinkAddr is where the machine listens on its link.
func LinkAddr(port uint16) string { return fmt.Sprintf("/ip4/%s/tcp/%d", LinkHost, port) }
