package award

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Draw is the seed of a redundant order's draw; ok is false while it is not known.
type Draw func(o *market.Order) (seed market.DrawSeed, ok bool)

// drawn chooses the nodes of an order whose outputs are compared: by lot among all that suit, each of another provider.
// The best ones by score could be one person's, who asks little for it under several wallets.
func drawn(v *view.Accounts, m *match.Matcher, o *market.Order, q match.Query, now int64, draw Draw) ([]market.Candidate, error) {
	seed, ok := draw(o)
	if !ok {
		return nil, ErrNotDrawn
	}
	taken := map[solana.PublicKey]bool{}
	for lease := range v.LeasesOfOrder[o.Address] {
		taken[v.Leases[lease].Provider] = true
	}
	// A rerun of the same job is one on machines of others, as long as the first run is on chain.
	for key, other := range v.Orders {
		if other.Redundant == 1 && other.Customer == o.Customer && other.ImageDigest == o.ImageDigest && other.CreatedAt < o.CreatedAt {
			for lease := range v.LeasesOfOrder[key] {
				taken[v.Leases[lease].Provider] = true
			}
		}
	}
	var out []market.Candidate
	for _, n := range seed.Draw(m.Suitable(q, now), q.Nodes, taken, q.Requirement.SameSite != 0) {
		c, err := market.NewCandidate(o.Address, *n, now, o.LatestEnd())
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Address, err)
		}
		out = append(out, c)
	}
	if len(out) < q.Nodes {
		return nil, fmt.Errorf("%w: %d of %d, each of another provider", ErrNoMatch, len(out)+int(o.NodesAwarded), o.NodesWanted)
	}
	return out, nil
}
