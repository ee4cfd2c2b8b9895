package vpn

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/gantry-market/gantry/sdk/mesh"
)

// NewInterface makes an interface of this computer with an address and a route to the network. Members send answers alone into it. It
// goes when it is closed.
func NewInterface(name string, at netip.Addr) (tun.Device, error) {
	t, err := tun.CreateTUN(name, mesh.MTU)
	if err != nil {
		return nil, fmt.Errorf("vpn: make interface %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: at.AsSlice(), Mask: net.CIDRMask(mesh.Range.Bits(), at.BitLen())}})
	}
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("vpn: set up interface %s: %w", name, err), t.Close())
	}
	return newFilter(t, at), nil
}
