package hostile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	ma "github.com/multiformats/go-multiaddr"
)

// relaying makes reservations at a keeper, and connects to others through it.
func relaying(ctx context.Context, a *attacker, to target, t *tally) {
	a.connected(ctx, to, t, 50*time.Millisecond, func(h host.Host) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if rand.IntN(2) == 0 {
			_, err := client.Reserve(ctx, h, to.AddrInfo)
			return err
		}
		other := a.targets[rand.IntN(len(a.targets))]
		if other.ID == to.ID {
			return nil
		}
		m, err := ma.NewMultiaddr(fmt.Sprintf("%s/p2p/%s/p2p-circuit", to.Addrs[0], to.ID))
		if err != nil {
			return err
		}
		return h.Connect(network.WithAllowLimitedConn(ctx, "attack"), peer.AddrInfo{ID: other.ID, Addrs: []ma.Multiaddr{m}})
	})
}
