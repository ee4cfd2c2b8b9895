package daemon

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/statement"
)

// small reports whether all keepers check all nodes.
func (n *network) small() (yes bool) {
	n.k.view.Read(func(v *view.Accounts) { yes = len(v.ActiveKeepers()) <= committee.Size })
	return yes
}

// joinManifests starts the gossip of manifests, one message a keeper and period.
func (n *network) joinManifests(domain string) error {
	var err error
	n.manifests, err = p2p.Join(n.node, p2p.TopicConfig[messages.Manifests]{
		Name: messages.ManifestsTopic(domain), Version: messages.Version, MaxSize: maxManifest,
		Known: n.isKeeper, Validate: n.validateManifest, Handle: n.handleManifest, Rate: 2, Burst: 100,
	})
	return err
}

// validateManifest lets keepers speak for themselves only.
func (n *network) validateManifest(_ context.Context, author solana.PublicKey, m messages.Manifests) p2p.Verdict {
	switch {
	case m.Version != messages.Version:
		return p2p.Ignore
	case len(m.Manifests) != 1 || solana.PublicKey(m.Manifests[0].Keeper) != author:
		return p2p.Reject
	case !n.inTime(m.Manifests[0].Period):
		return p2p.Ignore
	case statement.ReadManifest(m.Manifests[0]).Verify(n.k.domain) != nil:
		n.k.metrics.Rejected()
		return p2p.Reject
	}
	return p2p.Accept
}

func (n *network) handleManifest(ctx context.Context, _ solana.PublicKey, m messages.Manifests) {
	n.k.engine.Heard(ctx, m.Manifests[0])
}

func (n *network) serveManifests(_ context.Context, from solana.PublicKey, req messages.ManifestsRequest) (messages.Manifests, error) {
	out := messages.Manifests{Version: messages.Version}
	if !n.isKeeper(from) {
		return out, p2p.Refuse(p2p.CodeRefused, "for keepers only")
	}
	all, err := n.k.engine.Manifests(records.Period(req.Period))
	if errors.Is(err, consensus.ErrNotSealed) {
		return out, p2p.Refuse(p2p.CodeUnavailable, "period %d is not sealed yet", req.Period)
	}
	out.Manifests = all
	return out, err
}

// serveBlob answers everybody who takes part in the market: sets and leaves are what reports follow from.
func (n *network) serveBlob(_ context.Context, _ solana.PublicKey, req messages.BlobRequest) (messages.Piece, error) {
	raw, err := n.k.engine.Blob(req.Kind, records.Period(req.Period), req.Digest)
	if err != nil {
		return messages.Piece{}, p2p.Refuse(p2p.CodeNotFound, "nothing of period %d with this digest", req.Period)
	}
	return consensus.Piece(raw, req.Offset), nil
}

// Announce implements consensus.Peers.
func (n *network) Announce(ctx context.Context, m messages.Manifest) error {
	return n.manifests.Publish(ctx, messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{m}})
}

// Manifests implements consensus.Peers.
func (n *network) Manifests(ctx context.Context, keeper solana.PublicKey, p records.Period) ([]messages.Manifest, error) {
	req := messages.ManifestsRequest{Version: messages.Version, Period: uint64(p)}
	got, err := p2p.Call[messages.ManifestsRequest, messages.Manifests](ctx, n.node, keeper, manifestsProtocol, req)
	if p2p.IsCode(err, p2p.CodeUnavailable) {
		return nil, errors.Join(consensus.ErrNotSealed, err)
	}
	return got.Manifests, err
}

// Blob implements consensus.Peers.
func (n *network) Blob(ctx context.Context, keeper solana.PublicKey, req messages.BlobRequest) (messages.Piece, error) {
	return p2p.Call[messages.BlobRequest, messages.Piece](ctx, n.node, keeper, blobsProtocol, req)
}
