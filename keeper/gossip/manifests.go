package gossip

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// MaxManifest bounds a message of the manifests topic, bytes.
const MaxManifest = 1 << 10

// ManifestsProtocol is how keepers ask each other for the manifests of a period.
var ManifestsProtocol = p2p.Protocol{
	ID: messages.ManifestsOf, MaxResponse: 3 * maxProposal, Rate: 20, Burst: 60,
}

// blobsProtocol is how keepers ask each other for statement sets and leaves. A set of 40,000 nodes has some ten pieces,
// the leaves of their report forty.
var blobsProtocol = p2p.Protocol{
	ID: messages.Blobs, MaxResponse: messages.MaxPiece + 1<<10, Rate: 50, Burst: 400, Concurrent: 32,
}

// joinManifests starts the gossip of manifests, one message a keeper and period.
func (g *Gossip) joinManifests() (err error) {
	g.manifests, err = p2p.Join(g.o.Node, p2p.TopicConfig[messages.Manifests]{
		Name: messages.ManifestsTopic(g.o.Domain.String()), MaxSize: MaxManifest,
		Known: g.mayGossip, Validate: g.validateManifest, Handle: g.handleManifest, Rate: 2, Burst: 100,
	})
	if err != nil {
		return err
	}
	p2p.Handle(g.o.Node, ManifestsProtocol, g.serveManifests)
	p2p.Handle(g.o.Node, blobsProtocol, g.serveBlob)
	return nil
}

// validateManifest lets keepers speak for themselves only.
func (g *Gossip) validateManifest(_ context.Context, author solana.PublicKey, m messages.Manifests) p2p.Verdict {
	switch {
	case m.Version != messages.Version:
		return p2p.Ignore
	case len(m.Manifests) != 1 || solana.PublicKey(m.Manifests[0].Keeper) != author:
		return p2p.Reject
	case !g.current(m.Manifests[0].Period) || !g.o.Roles.Role(author, records.Period(m.Manifests[0].Period)).May(roles.Sign):
		return p2p.Ignore
	case statement.ReadManifest(m.Manifests[0]).Verify(g.o.Domain, g.o.Roles.Keys) != nil:
		g.o.Metrics.Rejected()
		return p2p.Reject
	}
	return p2p.Accept
}

func (g *Gossip) handleManifest(ctx context.Context, _ solana.PublicKey, m messages.Manifests) {
	g.h.Engine.HandleManifest(ctx, m.Manifests[0])
}

func (g *Gossip) serveManifests(_ context.Context, from solana.PublicKey, req messages.ManifestsRequest) (messages.Manifests, error) {
	out := messages.Manifests{Version: messages.Version}
	if !g.may(from, roles.Ask) {
		return out, p2p.Refuse(p2p.CodeRefused, "for keepers only")
	}
	all, err := g.h.Engine.Manifests(records.Period(req.Period))
	if errors.Is(err, consensus.ErrNotSealed) {
		return out, p2p.Refuse(p2p.CodeUnavailable, "period %d is not sealed yet", req.Period)
	}
	out.Manifests = all
	return out, err
}

// serveBlob answers everybody who takes part in the market: sets and leaves are what reports follow from.
func (g *Gossip) serveBlob(_ context.Context, _ solana.PublicKey, req messages.BlobRequest) (messages.Piece, error) {
	raw, err := g.h.Engine.Blob(req.Kind, records.Period(req.Period), req.Digest)
	if err != nil {
		return messages.Piece{}, p2p.Refuse(p2p.CodeNotFound, "nothing of period %d with this digest", req.Period)
	}
	return consensus.Piece(raw, req.Offset), nil
}

// Announce implements consensus.Peers.
func (g *Gossip) Announce(ctx context.Context, m messages.Manifest) error {
	if g.manifests == nil {
		return errNotJoined
	}
	return g.manifests.Publish(ctx, messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{m}})
}

// Manifests implements consensus.Peers.
func (g *Gossip) Manifests(ctx context.Context, keeper solana.PublicKey, p records.Period) ([]messages.Manifest, error) {
	req := messages.ManifestsRequest{Version: messages.Version, Period: uint64(p)}
	got, err := p2p.Call[messages.ManifestsRequest, messages.Manifests](ctx, g.o.Node, keeper, ManifestsProtocol, req)
	if p2p.IsCode(err, p2p.CodeUnavailable) {
		return nil, errors.Join(consensus.ErrNotSealed, err)
	}
	return got.Manifests, err
}

// Blob implements consensus.Peers.
func (g *Gossip) Blob(ctx context.Context, keeper solana.PublicKey, req messages.BlobRequest) (messages.Piece, error) {
	return p2p.Call[messages.BlobRequest, messages.Piece](ctx, g.o.Node, keeper, blobsProtocol, req)
}
