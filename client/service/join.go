package service

import (
	"context"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Join joins the peer-to-peer network of a cluster. The options name the key, and how the member is reached; the caller closes
// it.
func Join(ctx context.Context, c *chain.Client, o p2p.Options) (*p2p.Node, error) {
	public, err := c.Public(ctx)
	if err != nil {
		return nil, err
	}
	o.UserAgent, o.PublicOnly = "gantry/"+version.Build, public
	return p2p.New(o)
}

// Introduce tells a member the names of a view and where its keepers are. It returns the keepers with a usable address.
func Introduce(n *p2p.Node, v *view.View, log zerolog.Logger) (keepers []solana.PublicKey) {
	n.Know(roles.Names{View: v})
	for _, k := range v.Keepers() {
		if err := n.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}); err != nil {
			log.Debug().Err(err).Stringer("keeper", k.Wallet).Msg("keeper's address is not usable")
			continue
		}
		keepers = append(keepers, k.Wallet)
	}
	return keepers
}
