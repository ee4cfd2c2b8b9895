package consensus

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
)

// candidates are the roots that have votes on chain, the heaviest first and of equal ones the smaller: the order in which
// all keepers prefer them.
func candidates(r *market.Report) []bindings.Candidate {
	if r == nil {
		return nil
	}
	cs := slices.DeleteFunc(slices.Clone(r.Roots()), func(c bindings.Candidate) bool { return c.Weight == 0 })
	slices.SortFunc(cs, func(a, b bindings.Candidate) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), bytes.Compare(a.Root[:], b.Root[:]))
	})
	return cs
}

// vouched reports whether a third of the weight has voted for a root: some of these votes are honest, however many lie.
func vouched(c bindings.Candidate, r round) bool { return 3*c.Weight >= r.weights.Total() }

// patience is for how many rounds a keeper insists that a root has to name what it holds: until an honest proposer has had
// its turn, and one round more for its proposal.
func patience(r round) int64 { return int64(len(r.weights)/3) + 2 }

// acceptable returns the proposal of a root with votes, if we may vote for it. One that leaves out statements which we hold
// is acceptable when some of its votes are honest, since insisting would undo the period, and when all that insisting has
// led to is that the keepers are apart.
func (s *state) acceptable(r round, n int64, c bindings.Candidate) (messages.Proposal, bool) {
	if m, ok := s.sound[c.Root]; ok {
		return m, true
	}
	m, ok := s.bearable[c.Root]
	return m, ok && (vouched(c, r) || n >= patience(r))
}

// stand keeps our vote at the root that all are to come together at: the first of the candidates that we accept. The program
// lets a vote move to a root that then weighs more than the one it left did, which the first of them always does. Whatever
// the network did to the keepers while they voted, they are at one root soon after it has healed, since each move makes the
// heaviest heavier and the others lighter, and whoever voted for a root hands out its proposal.
func (e *Engine) stand(ctx context.Context, r round, s *state, n int64, voted records.Hash) error {
	if s.voting {
		return nil
	}
	var missing []records.Hash
	for _, c := range candidates(r.report) {
		if records.Hash(c.Root) == voted || e.o.Now().Before(s.moveAt) {
			break
		}
		m, ok := s.acceptable(r, n, c)
		if r.onChain && records.Hash(c.Root) == r.voted {
			// Our vote was to move from here to a root that is lighter by now.
			var err error
			if m, err = e.kept(r.period, c.Root); err != nil {
				return err
			}
			ok = true
		}
		if ok {
			e.o.Log.Info().Uint64("period", uint64(r.period)).Hex("from", voted[:4]).Hex("to", c.Root[:4]).Msg("the vote moves to the heaviest root")
			return e.choose(ctx, r, s, m)
		}
		if e.o.Now().After(s.unsound[c.Root]) {
			missing = append(missing, c.Root)
		}
	}
	if len(missing) > 0 {
		e.fetch(ctx, r, s, missing)
	}
	if !r.onChain || r.voted != voted {
		e.vote(ctx, r, s, voted)
	}
	return e.repeat(ctx, r, s, n, voted)
}
