package hostile

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/gantry-market/gantry/internal/wait"
)

const (
	// crowdAddresses is how many places strangers have in all.
	crowdAddresses = 128
	crowdWorkers   = 8
	crowdPause     = 250 * time.Millisecond // of one that was refused
)

// addressesOfOne keeps a connection from each of the attacker's addresses, with another key each time.
func addressesOfOne(ctx context.Context, a *attacker, to target, t *tally) {
	if !strings.HasPrefix(to.tcp, "[") {
		return // it is not reached over IPv6
	}
	to.kind = aMachine // TCP only: the address to dial from is one of TCP
	var wg sync.WaitGroup
	for some := range slices.Chunk(a.Addrs6, max(1, len(a.Addrs6)/crowdWorkers)) {
		wg.Go(func() { a.keep(ctx, to, t, some) })
	}
	wg.Wait()
}

// keep keeps a connection from each of these addresses.
func (a *attacker) keep(ctx context.Context, to target, t *tally, addrs []string) {
	open := make([]host.Host, len(addrs))
	shut := func(i int) {
		if open[i] != nil {
			_ = open[i].Close()
		}
	}
	defer func() {
		for i := range open {
			shut(i)
		}
	}()
	for ctx.Err() == nil {
		for i, addr := range addrs {
			if ctx.Err() != nil || open[i] != nil && open[i].Network().Connectedness(to.ID) == network.Connected {
				continue
			}
			shut(i)
			if open[i] = a.dialed(ctx, to, t, from(addr)); open[i] == nil {
				_ = wait.For(ctx, crowdPause)
				continue
			}
			_ = wait.For(ctx, 20*time.Millisecond) // who finds no place is let in and closed
			if open[i].Network().Connectedness(to.ID) == network.Connected {
				t.took(nil)
			} else {
				t.took(errRefused)
				_ = wait.For(ctx, crowdPause)
			}
		}
		_ = wait.For(ctx, 20*time.Millisecond)
	}
}

// from has a host dial from one of this machine's addresses.
func from(addr string) libp2p.Option {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
	return libp2p.Transport(tcp.NewTCPTransport, tcp.WithDialerForAddr(func(ma.Multiaddr) (tcp.ContextDialer, error) { return d, nil }))
}
