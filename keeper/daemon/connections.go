package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/p2p"
)

const peersEvery = time.Second

// networkConfig is how a keeper takes part in the network. local is a cluster on this machine.
func (k *Keeper) networkConfig(local bool) p2p.Config {
	c := p2p.Config{
		Key: k.c.Wallet, Listen: []string{k.c.Listen}, UserAgent: "gantry-keeper", Known: k.knownPeer, Log: k.component("network"),
	}
	if k.c.Announce != "" {
		c.Announce = []string{k.c.Announce}
	}
	return c.ForKeeper(local)
}

// knownPeer reports whether a key takes part in the market. Until the chain has been read, any may.
func (k *Keeper) knownPeer(key solana.PublicKey) (known bool) {
	select {
	case <-k.watcher.Ready():
	default:
		return true
	}
	k.view.Read(func(v *view.Accounts) { known = v.KnownPeer(key) })
	return known
}

// runPeers keeps connections to the other keepers. The network itself ends those of strangers.
func (n *network) runPeers(ctx context.Context) error {
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	last := ""
	for {
		var peers []p2p.Peer
		n.k.view.Read(func(v *view.Accounts) {
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

// connected counts the other keepers that there is a connection to.
func (n *network) connected() (count int) {
	n.k.view.Read(func(v *view.Accounts) {
		for wallet := range v.Keepers {
			if wallet != n.node.Key() && n.node.Connected(wallet) {
				count++
			}
		}
	})
	return count
}

// others counts the other keepers that count.
func (n *network) others() (count int) {
	n.k.view.Read(func(v *view.Accounts) {
		for wallet, k := range v.Keepers {
			if wallet != n.node.Key() && k.State() == market.KeeperActive {
				count++
			}
		}
	})
	return count
}
