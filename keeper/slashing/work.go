package slashing

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/keeper/crank"
)

// work takes the next of the two steps against a node, and reports whether nothing is left to do.
func (q *due) work(b badWork) (done bool) {
	n, ok := q.v.Nodes[solana.PublicKey(b.Node)]
	period := binary.LittleEndian.Uint64(b.Claim[48:])
	mine := q.v.FraudProofs[market.FraudProofAddress(b.Node, q.s.o.Self)]
	if !ok || n.BadWorkPeriod >= period {
		delete(q.s.others, b.Node)
		return true // closed, or another finder has proven it; leftovers closes a fraud proof of ours
	}
	group := fmt.Sprintf("work/%s", n.Address)
	id := fmt.Sprintf("%s/%s/%d/%x", q.s.o.Self, n.Address, period, b.Claim[96:104])
	proof := b.of(n)
	switch {
	case mine == nil:
		first, wait := q.others(n.Address)
		if wait {
			return false
		}
		if !first {
			id += "/late" // the first try may have been given up for theirs
		}
		ixs, err := proof.OpenFraudProof(q.s.o.Self)
		q.add(crank.FraudProofOpen, group, id, ixs, err)
	case !about(mine, b):
		instruction, err := ix.FraudProofClose(*mine)
		q.add(crank.FraudProofClose, "", closing(mine), []solana.Instruction{instruction}, err)
	default:
		if current, err := market.PeriodOf(q.now, q.v.Market.Params.PeriodSecs); err != nil || current < period {
			q.fail(err)
			return false // the chain's clock is not there yet
		}
		instruction, err := proof.Prove(q.s.o.Self)
		// We have paid the fraud proof's rent, so that there is no waiting for other finders any more.
		q.add(crank.ProveBadWork, "", id, []solana.Instruction{instruction}, err)
	}
	return false
}

// about reports whether a fraud proof is the first half of this proof.
func about(a *market.FraudProof, b badWork) bool {
	return a.Kind == market.ProofEntry && a.Period == binary.LittleEndian.Uint64(b.Claim[48:]) && a.Seed == [32]byte(b.Claim[56:]) &&
		a.Root == [32]byte(b.Claim[96:]) && a.Column == b.Column && a.Row == binary.LittleEndian.Uint32(b.Opening)
}

// others looks for fraud proofs of other finders against the node. first: there is none. wait: there is one, and its
// finder still has time to complete it. A finder that opens one and does not complete it delays our proof once only.
func (q *due) others(node solana.PublicKey) (first, wait bool) {
	since, known := q.s.others[node]
	if !known {
		for _, a := range q.v.FraudProofs {
			known = known || a.Node == node && a.Finder != q.s.o.Self
		}
		if !known {
			return true, false
		}
		q.s.others[node], since = q.now, q.now
	}
	return false, q.now < since+int64(q.s.o.Delay/time.Second)
}

func closing(a *market.FraudProof) string {
	return fmt.Sprintf("%s/%d/%x", a.Address, a.Period, a.Root[:8])
}

// leftovers closes own fraud proofs of which the keeper holds no proof any more: another finder was first, or the proof
// is lost.
func (q *due) leftovers() {
	for _, address := range inOrder(q.v.FraudProofs) {
		a := q.v.FraudProofs[address]
		if a.Finder != q.s.o.Self {
			continue
		}
		if _, ok := q.s.held[workName(a.Node)]; ok {
			continue
		}
		instruction, err := ix.FraudProofClose(*a)
		q.add(crank.FraudProofClose, "", closing(a), []solana.Instruction{instruction}, err)
	}
}
