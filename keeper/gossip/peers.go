package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// peersEvery is how often the keepers' addresses are looked up.
const peersEvery = time.Second

// runPeers keeps connections to the other keepers that are dialled; the rest connect by themselves. The network itself ends
// those of strangers.
func (g *Gossip) runPeers(ctx context.Context) error {
	last := ""
	follow := func() {
		var peers []p2p.Peer
		g.o.View.Read(func(v *view.Accounts) {
			for wallet, k := range v.Keepers {
				if addr := k.Addr(); wallet != g.self() && addr != "" && k.State().Dialled() {
					peers = append(peers, p2p.Peer{Key: wallet, As: k.SigningKey(), Addrs: []string{addr}})
				}
			}
		})
		slices.SortFunc(peers, func(a, b p2p.Peer) int { return bytes.Compare(a.Key[:], b.Key[:]) })
		if now := fmt.Sprint(peers); now != last {
			if err := g.keep(peers); err != nil {
				g.o.Log.Warn().Err(err).Msg("some keepers' addresses cannot be used")
			}
			last = now
		}
	}
	follow()
	return schedule.Every(ctx, peersEvery, follow)
}

// keep connects to all peers but those with an address that is wrong.
func (g *Gossip) keep(peers []p2p.Peer) error {
	if err := g.o.Node.Keep(peers); err == nil {
		return nil
	}
	var sound []p2p.Peer
	var bad error
	for _, p := range peers {
		if err := g.o.Node.Remember(p); err != nil {
			bad = errors.Join(bad, fmt.Errorf("keeper %s: %w", p.Key, err))
			continue
		}
		sound = append(sound, p)
	}
	return errors.Join(bad, g.o.Node.Keep(sound))
}

// Connected counts the other keepers that there is a connection to.
func (g *Gossip) Connected() (count int) {
	var others []solana.PublicKey
	g.o.View.Read(func(v *view.Accounts) {
		for wallet := range v.Keepers {
			if wallet != g.self() {
				others = append(others, wallet)
			}
		}
	})
	for _, wallet := range others { // the node reads the view as well
		if g.o.Node.Connected(wallet) {
			count++
		}
	}
	return count
}

// Others counts the other active keepers.
func (g *Gossip) Others() (count int) {
	g.o.View.Read(func(v *view.Accounts) {
		for wallet, k := range v.Keepers {
			if wallet != g.self() && k.State() == market.KeeperActive {
				count++
			}
		}
	})
	return count
}
