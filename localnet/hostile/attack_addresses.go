package hostile

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
)

const (
	// crowdAddresses is how many places strangers have in all.
	crowdAddresses = 128
	// crowdPause has each address come again every half minute, which is as long as a stranger may stay.
	crowdPause = 30 * time.Second / crowdAddresses
)

// addressesOfOne connects with another key from each of the attacker's addresses, and again where the connection has ended or has
// lasted for half a minute.
func addressesOfOne(ctx context.Context, a *attacker, to target, t *tally) {
	if !strings.HasPrefix(to.tcp, "[") {
		return // it is not reached over IPv6
	}
	open := make([]host.Host, len(a.Addrs6))
	defer func() {
		for _, h := range open {
			if h != nil {
				_ = h.Close()
			}
		}
	}()
	for i := 0; ctx.Err() == nil; i++ {
		at := i % len(open)
		if open[at] != nil {
			_ = open[at].Close()
		}
		if open[at] = a.dialed(ctx, target{AddrInfo: to.AddrInfo, kind: aMachine}, t, from(a.Addrs6[at])); open[at] != nil {
			sleep(ctx, 20*time.Millisecond) // who finds no place is let in and closed
			var err error
			if open[at].Network().Connectedness(to.ID) != network.Connected {
				err = errRefused
			}
			t.took(err)
		}
		if i >= len(open) {
			sleep(ctx, crowdPause)
		}
	}
}

// from has a host dial from one of this machine's addresses.
func from(addr string) libp2p.Option {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
	return libp2p.Transport(tcp.NewTCPTransport, tcp.WithDialerForAddr(func(ma.Multiaddr) (tcp.ContextDialer, error) { return d, nil }))
}
