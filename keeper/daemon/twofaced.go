package daemon

import (
	"github.com/gantry-market/gantry/keeper/statement"
)

// twoFaced keeps two manifests that a keeper has signed for one period until they are on chain, where they cost its bond.
// They are not gossiped: whoever proposes asks everybody for all manifests, and one proof is enough.
func (n *network) twoFaced(one, other statement.Manifest) {
	if !n.bonded(one.Keeper) || n.k.proofs.Against(one.Keeper) {
		return
	}
	first, err := n.k.proofs.Manifests(n.k.domain, one, other)
	switch {
	case err != nil:
		n.k.log.Error().Err(err).Stringer("keeper", one.Keeper).Msg("proof of two manifests was not kept")
	case first:
		n.k.log.Warn().Stringer("keeper", one.Keeper).Uint64("period", uint64(one.Period)).
			Msg("keeper has signed two different manifests of one period; the proof goes on chain")
	}
}
