package award

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/keeper/match"
)

// spread chooses the best nodes of different providers, for an order whose outputs are compared: equal outputs of one
// provider prove nothing. The program does not require it, since a provider can have several wallets.
func spread(v *view.Accounts, m *match.Matcher, o *market.Order, q match.Query, now int64) ([]market.Candidate, error) {
	wanted := q.Nodes
	q.Nodes = 1
	taken := map[solana.PublicKey]bool{}
	for _, n := range q.Except {
		if have, ok := v.Nodes[n]; ok {
			taken[have.Provider] = true
		}
	}
	except := func() {
		for address, n := range v.Nodes {
			if taken[n.Provider] {
				q.Except = append(q.Except, address)
			}
		}
	}
	if len(taken) > 0 {
		except()
	}
	var out []market.Candidate
	for len(out) < wanted {
		best := m.Best(q, now)
		if len(best) == 0 {
			return nil, fmt.Errorf("%w: %d of %d, each of another provider", ErrNoMatch, len(out)+int(o.NodesAwarded), o.NodesWanted)
		}
		out = append(out, best[0])
		taken = map[solana.PublicKey]bool{best[0].Node.Provider: true}
		except()
		if q.Site == nil && q.Requirement.SameSite != 0 {
			site := best[0].Node.Spec.Site
			q.Site = &site
		}
	}
	return out, nil
}
