package slashing

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/market"
)

// equivocation proves that a keeper has equivocated, and reports whether nothing is left to do: it is expelled, or has
// taken its bond and left.
func (q *due) equivocation(c equivocationProof) (done bool) {
	wallet := solana.PublicKey(c.Keeper)
	k, ok := q.v.Keepers[wallet]
	if !ok || k.State() == market.KeeperSlashed {
		return true
	}
	ixs, err := c.prove(q.finder(), q.mint, k.Liable(q.now))
	// A keeper that was expelled and came back is another life of the address.
	key := fmt.Sprintf("%s/%d", wallet, k.RegisteredAt)
	q.add(crank.ProveEquivocation, "equivocation/"+key, key, ixs, err)
	return false
}
