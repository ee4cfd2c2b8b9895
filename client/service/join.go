package service

import (
	"context"

	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Join joins the peer-to-peer network to ask the keepers of a view. The caller closes the node.
func (s *Service) Join(ctx context.Context, key records.Signer, v *view.View) (*p2p.Node, error) {
	public, err := s.client.Public(ctx)
	if err != nil {
		return nil, err
	}
	n, err := p2p.New(p2p.Options{Key: key, Client: true, UserAgent: "gantry/" + version.Build, PublicOnly: public, Log: s.log})
	if err != nil {
		return nil, err
	}
	n.Know(roles.Names{View: v})
	for _, k := range v.Keepers() {
		if err := n.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}); err != nil {
			s.log.Debug().Err(err).Stringer("keeper", k.Wallet).Msg("keeper's address is not usable")
		}
	}
	return n, nil
}
