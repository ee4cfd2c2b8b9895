package hostile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/sdk/messages"
)

// falseProposals gossips manifests of sets that do not exist, and proposals that follow from nothing.
func falseProposals(ctx context.Context, a *attacker, to target, t *tally) {
	g := &gossiper{a: a, number: uint64(time.Now().UnixNano())}
	d := a.Domain.String()
	a.connected(ctx, to, t, 20*time.Millisecond, func(h host.Host) error {
		period := a.period() - uint64(rand.IntN(3))
		manifest := messages.Manifest{
			Keeper: a.Key.PublicKey(), Period: period, Count: 1 << 20, Size: 1 << 30, Digest: key32(), Signature: [64]byte(junk(64)),
		}
		if rand.IntN(2) == 0 {
			m := messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{manifest}}
			return g.publish(ctx, h, to, t, messages.ManifestsTopic(d), m)
		}
		p := messages.Proposal{
			Version: messages.Version, Period: period, Round: rand.Uint32N(8), Proposer: a.Key.PublicKey(), Root: key32(), Seed: key32(),
			Signature: [64]byte(junk(64)),
		}
		for range 64 {
			p.Manifests = append(p.Manifests, manifest)
		}
		return g.publish(ctx, h, to, t, messages.ProposalsTopic(d), p)
	})
}
