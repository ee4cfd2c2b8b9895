package slashing

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// awards remembers which awards were looked over. It is not kept on disk: a restart looks again.
type awards struct {
	seen map[award]solana.PublicKey // the better node; zero when the award was just
}

// award is one life of a lease's address.
type award struct {
	lease solana.PublicKey
	at    int64
}

func newAwards() *awards { return &awards{seen: map[award]solana.PublicKey{}} }

// awards looks over every award of another keeper once, while it can be contested, and proves those that went past a
// better node for as long as that can be shown. Whether it is so the program decides: should what this keeper knows of
// the chain lag behind, the proof is refused in the simulation before it is sent.
func (q *due) awards() {
	seen, fresh := q.s.awards.seen, map[award]solana.PublicKey{}
	for _, address := range inOrder(q.v.Leases) {
		l := q.v.Leases[address]
		o, ok := q.v.Orders[l.Order]
		if !ok || !l.Contestable(q.now) || l.Lease.Keeper == q.s.o.Self {
			continue
		}
		life := award{address, l.AwardedAt}
		better, known := seen[life]
		if !known {
			better = q.best(o, l)
		}
		fresh[life] = better
		if better.IsZero() || q.v.Keepers[l.Lease.Keeper] == nil {
			continue
		}
		proof, ok := q.better(o, l, better)
		if !ok {
			continue
		}
		if _, ok := proof.Score(q.now); !ok {
			continue
		}
		prove, err := ix.ProveBetterAsk(proof, q.finder())
		key := fmt.Sprintf("%s/%d/%s", address, l.AwardedAt, better)
		q.add(crank.ProveBetterAsk, "award/"+key, key, []solana.Instruction{prove}, err)
	}
	q.s.awards.seen = fresh
}

// best is the node with the lowest score that can be shown to have been better; zero when there is none.
func (q *due) best(o *market.Order, l *market.Lease) (best solana.PublicKey) {
	lowest := l.Lease.Score
	for address, n := range q.v.Nodes {
		if uint64(n.AskFor(o.Interruptible != 0)) >= l.Lease.Score || !market.TakesModel(&o.Requirement, n.Spec.Model) {
			continue // no score is below its price
		}
		proof, ok := q.better(o, l, address)
		if !ok {
			continue
		}
		if score, ok := proof.Score(q.now); ok && (score < lowest || score == lowest && before(address, best)) {
			lowest, best = score, address
		}
	}
	return best
}

func before(a, b solana.PublicKey) bool { return string(a[:]) < string(b[:]) }

// better are the accounts that show that a node should have been awarded; ok is false when one is not known.
func (q *due) better(o *market.Order, l *market.Lease, node solana.PublicKey) (b market.BetterAsk, ok bool) {
	n, ok := q.v.Nodes[node]
	if !ok {
		return b, false
	}
	p, m := q.v.Providers[n.Provider], q.v.Models[n.Spec.Model]
	if p == nil || m == nil {
		return b, false
	}
	return market.BetterAsk{Market: *q.v.Market, Order: *o, Lease: *l, Better: *n, Provider: *p, Model: *m}, true
}
