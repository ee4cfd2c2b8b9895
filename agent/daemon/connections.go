package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// keepers are those to be connected to, with their addresses on chain. A keeper whose address cannot be read is left
// out, so that the node keeps its connections to the others. So is one that nobody dials.
func (a *Agent) keepers() []p2p.Peer { return keepersOf(a.view) }

func keepersOf(v *view.View) []p2p.Peer {
	var out []p2p.Peer
	for _, k := range v.Keepers() {
		if !k.State().Dialled() {
			continue
		}
		peer, err := p2p.ParsePeer(k.Addr())
		if err != nil {
			// An address without the trailing identity is accepted: the identity is the signer.
			peer = p2p.Peer{Key: k.SigningKey(), Addrs: []string{k.Addr()}}
		}
		if peer.Key != k.SigningKey() || k.Addr() == "" {
			continue
		}
		peer.Key, peer.As = k.Wallet, k.SigningKey()
		out = append(out, peer)
	}
	return out
}

// keepConnections holds a connection to every keeper, following the chain.
func (a *Agent) keepConnections(ctx context.Context) error {
	var last []string
	for {
		changed := a.view.Changed()
		peers := a.keepers()
		now := make([]string, len(peers))
		for i, p := range peers {
			now[i] = fmt.Sprint(p.Key, p.As, p.Addrs)
		}
		if !slices.Equal(now, last) {
			last = now
			a.connect(peers)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// connect replaces the list of kept peers. It leaves out addresses that cannot be used.
func (a *Agent) connect(peers []p2p.Peer) {
	var good []p2p.Peer
	for _, p := range peers {
		if err := a.p2p.Remember(p); err != nil {
			a.log.Warn().Err(err).Str("keeper", p.Key.String()).Msg("the keeper's address on chain cannot be used")
			continue
		}
		good = append(good, p)
	}
	if err := a.p2p.Keep(good); err != nil {
		a.log.Warn().Err(err).Msg("the connections to keepers cannot be changed")
		return
	}
	a.log.Info().Int("keepers", len(good)).Msg("agent connects to keepers")
}

// connected counts the keepers that this node is connected to.
func (a *Agent) connected() (connected, all int) {
	for _, k := range a.view.Keepers() {
		all++
		if a.p2p.Connected(k.Wallet) {
			connected++
		}
	}
	return connected, all
}
