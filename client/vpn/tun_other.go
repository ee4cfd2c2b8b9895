//go:build !linux

package vpn

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.zx2c4.com/wireguard/tun"
)

// NewInterface makes an interface on Linux alone.
func NewInterface(name string, _ netip.Addr) (tun.Device, error) {
	return nil, fmt.Errorf("vpn: interface %s: %w outside of Linux", name, errors.ErrUnsupported)
}
