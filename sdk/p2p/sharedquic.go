package p2p

import (
	"context"
	"fmt"
	"net"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/quic-go/quic-go"
	"go.uber.org/fx"
)

// sharedQUIC makes QUIC take its sockets from listen. libp2p has no option for that alone: a constructor replaces its own,
// and has to do what that does (libp2p's config.go): limit connections before their handshake, and close with the host.
func sharedQUIC(listen func(network string, laddr *net.UDPAddr) (net.PacketConn, error)) libp2p.Option {
	return libp2p.QUICReuse(func(reset quic.StatelessResetKey, tokens quic.TokenGeneratorKey, limits network.ResourceManager, lifecycle fx.Lifecycle) (*quicreuse.ConnManager, error) {
		cm, err := quicreuse.NewConnManager(reset, tokens,
			quicreuse.OverrideListenUDP(listen),
			quicreuse.ConnContext(func(ctx context.Context, from *quic.ClientInfo) (context.Context, error) {
				addr, err := quicreuse.ToQuicMultiaddr(from.RemoteAddr, quic.Version1)
				if err != nil {
					addr = nil // the resource manager decides about a connection from nowhere
				}
				scope, err := limits.OpenConnection(network.DirInbound, false, addr)
				if err != nil {
					return ctx, err //nolint:wrapcheck // quic-go refuses the connection
				}
				context.AfterFunc(ctx, scope.Done)
				return network.WithConnManagementScope(ctx, scope), nil
			}),
			quicreuse.VerifySourceAddress(limits.VerifySourceAddress),
		)
		if err != nil {
			return nil, fmt.Errorf("QUIC connection manager: %w", err)
		}
		lifecycle.Append(fx.StopHook(cm.Close))
		return cm, nil
	})
}
