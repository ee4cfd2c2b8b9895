package vpn

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/mesh"
)

// Settings say how programs of this computer use a private network.
type Settings struct {
	// Interface makes one instead of a proxy; that needs root on Linux.
	Interface bool
	// Listen is the proxy's loopback address and port; port 0 takes a free one.
	Listen netip.AddrPort
	// Forwards are ports of this computer that lead to members too.
	Forwards []PortForward
	// Local: the machines are on this computer.
	Local bool
}

// PortForward is a port of loopback that leads to a port of a member, node-N:PORT.
type PortForward struct{ Local, To string }

// ParseForward reads LOCAL:node-N:PORT. Error: a usage error.
func ParseForward(text string) (PortForward, error) {
	local, to, _ := strings.Cut(text, ":")
	host, port, err := net.SplitHostPort(to)
	_, lerr := strconv.ParseUint(local, 10, 16)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || lerr != nil || perr != nil || n == 0 || host == "" {
		return PortForward{}, service.Usage(fmt.Sprintf("--forward %q is not LOCAL:node-N:PORT", text), "write, for example: --forward 8265:node-0:8265")
	}
	return PortForward{Local: local, To: to}, nil
}

// Serve joins, and lets programs of this computer use the network until ctx ends. Errors: service.Failure; those of Computer.Run.
func Serve(ctx context.Context, port *mesh.Port, o Options, s Settings) error {
	ctx, cancel := context.WithCancel(ctx)
	g, ctx := errgroup.WithContext(ctx)
	defer func() { cancel(); _ = g.Wait() }()
	if port.Number() == 0 { // this member of the network does not speak QUIC, as on local networks
		socket := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		if s.Local {
			socket = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
		}
		g.Go(func() error { return port.Serve(ctx, socket) })
	}
	var stack *Stack
	var t tun.Device
	var err error
	if s.Interface {
		t, err = NewInterface(mesh.Interface, mesh.Visitor)
		if err != nil {
			return service.Refused(err.Error(), "run it as root on Linux, or without --tun: a proxy needs no rights")
		}
	} else if stack, t, err = NewStack(mesh.Visitor); err != nil {
		return err
	}
	c, err := Join(port, t, o)
	if err != nil {
		return err
	}
	defer c.Close()
	if s.Interface {
		o.Say(" · network  %s on %s, members from %s (%s) on; Ctrl-C ends it", mesh.Visitor, mesh.Interface, mesh.Address(0), mesh.Name(0))
	} else if err := lead(ctx, g, stack.Dial(c), o, s); err != nil {
		return err
	}
	g.Go(func() error { return c.Run(ctx) })
	return g.Wait()
}

// lead serves the proxy and the forwards.
func lead(ctx context.Context, g *errgroup.Group, dial Dial, o Options, s Settings) error {
	for _, f := range s.Forwards {
		l, err := listenLocal(ctx, net.JoinHostPort("127.0.0.1", f.Local), "choose another LOCAL")
		if err != nil {
			return err
		}
		o.Say(" · forwards http://%s to %s", l.Addr().String(), f.To)
		g.Go(func() error {
			return Forward(ctx, l, dial, f.To, func(err error) { o.Say(" · refused  a connection: %v", err) })
		})
	}
	l, err := listenLocal(ctx, s.Listen.String(), "choose another: --listen 127.0.0.1:0")
	if err != nil {
		return err
	}
	o.Say(" · proxy    socks5h://%s and http://%s lead to the machines; Ctrl-C ends it", l.Addr().String(), l.Addr().String())
	g.Go(func() error { return NewProxy(dial).Serve(ctx, l) })
	return nil
}

func listenLocal(ctx context.Context, address, advice string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, service.Refused(fmt.Sprintf("%s cannot be listened on: %v", address, err), advice)
	}
	return l, nil
}
