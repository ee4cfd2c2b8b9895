package vpn

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// dialTime is how long a connection to a member may take to open.
const dialTime = 15 * time.Second

// Dial opens a TCP connection to a member, named by its host and port.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// Stack is a network stack in this process, in place of an interface.
type Stack struct{ net *netstack.Net }

// NewStack makes a stack with an address, and the interface to join with.
func NewStack(at netip.Addr) (*Stack, tun.Device, error) {
	t, n, err := netstack.CreateNetTUN([]netip.Addr{at}, nil, mesh.MTU)
	if err != nil {
		return nil, nil, fmt.Errorf("vpn: network stack: %w", err)
	}
	return &Stack{net: n}, t, nil
}

// Dial connects to members of a computer's network. Error: ErrNoMember.
func (s *Stack) Dial(c *Computer) Dial {
	return func(ctx context.Context, address string) (net.Conn, error) {
		host, text, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("vpn: %w", err)
		}
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return nil, fmt.Errorf("vpn: %q is not a port", text)
		}
		at, err := c.Resolve(host)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		conn, err := s.net.DialContextTCPAddrPort(ctx, netip.AddrPortFrom(at, uint16(port)))
		if err != nil {
			return nil, fmt.Errorf("vpn: connect to port %d of %s: %w", port, host, err)
		}
		return conn, nil
	}
}

// Forward connects whoever comes to a listener with an address of a member, until ctx ends, and closes the listener. refused
// hears why a connection was not forwarded, from several goroutines. Error: of the listener.
func Forward(ctx context.Context, l net.Listener, dial Dial, address string, refused func(error)) error {
	return tunnel.Accept(ctx, l, func(ctx context.Context, here net.Conn) {
		there, err := dial(ctx, address)
		if err != nil {
			refused(err)
			return
		}
		tunnel.Join(ctx, here, there)
	})
}
