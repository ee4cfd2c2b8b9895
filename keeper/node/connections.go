package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/keeper/index"
)

const (
	peersEvery = time.Second
	// strangerGrace is how long a peer may stay that the chain does not know (yet).
	strangerGrace = 30 * time.Second
)

// runPeers keeps connections to the other keepers and ends those of strangers.
func (n *network) runPeers(ctx context.Context) error {
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	last := ""
	strangers := map[solana.PublicKey]time.Time{}
	for {
		var peers []p2p.Peer
		n.k.index.Read(func(v *index.View) {
			for wallet, k := range v.Keepers {
				if addr := k.Addr(); wallet != n.node.Key() && addr != "" {
					peers = append(peers, p2p.Peer{Key: wallet, Addrs: []string{addr}})
				}
			}
		})
		sortPeers(peers)
		if now := fmt.Sprint(peers); now != last {
			if err := n.keep(peers); err != nil {
				n.k.log.Warn().Err(err).Msg("keepers' addresses")
			}
			last = now
		}
		n.sweep(strangers)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// keep leaves out single addresses that are wrong.
func (n *network) keep(peers []p2p.Peer) error {
	if err := n.node.Keep(peers); err == nil {
		return nil
	}
	var sound []p2p.Peer
	var bad error
	for _, p := range peers {
		if err := n.node.Remember(p); err != nil {
			bad = errors.Join(bad, fmt.Errorf("keeper %s: %w", p.Key, err))
			continue
		}
		sound = append(sound, p)
	}
	return errors.Join(bad, n.node.Keep(sound))
}

func (n *network) sweep(strangers map[solana.PublicKey]time.Time) {
	now := n.k.now()
	connected := map[solana.PublicKey]bool{}
	for _, key := range n.node.Peers() {
		known := false
		n.k.index.Read(func(v *index.View) { known = v.KnownPeer(key) })
		if known {
			continue
		}
		connected[key] = true
		since, seen := strangers[key]
		if !seen {
			strangers[key] = now
		} else if now.Sub(since) > strangerGrace {
			n.k.log.Debug().Stringer("peer", key).Msg("disconnecting a stranger")
			if err := n.node.Disconnect(key); err != nil {
				n.k.log.Debug().Err(err).Msg("disconnect")
			}
		}
	}
	for key := range strangers {
		if !connected[key] {
			delete(strangers, key)
		}
	}
}
