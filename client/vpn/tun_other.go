//go:build !linux

package vpn

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"

	"golang.zx2c4.com/wireguard/tun"
)

// NewInterface makes an interface on Linux only. Error: errors.ErrUnsupported.
func NewInterface(name string, _ netip.Addr) (tun.Device, error) {
	return nil, fmt.Errorf("vpn: interface %s: %w on %s; leave --tun out: programs reach the machines through a proxy then", name, errors.ErrUnsupported, runtime.GOOS)
}
