package consensus

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// others are the keepers of a round but us, in one order.
func (e *Engine) others(r round) []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(r.weights))
	for key := range r.weights {
		if key != e.Signer.PublicKey() {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// gather asks every keeper for its statements, then proposes.
func (e *Engine) gather(ctx context.Context, r round, s *state, n uint32) {
	s.gathering = true
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		complete := e.collect(ctx, r)
		return func(ctx context.Context) {
			s.gathering = false
			// A keeper that is not done yet, or does not answer, gets the first half of the round.
			late := e.Now().Sub(time.Unix(r.end, 0).Add(e.Timing.Delay)) - time.Duration(n)*e.Timing.Round
			if !complete && late < e.Timing.Round/2 {
				return
			}
			if err := e.propose(ctx, r, s, n); err != nil {
				e.Log.Error().Err(err).Uint64("period", uint64(r.period)).Msg("proposal")
			}
		}
	})
}

// collect brings the pool up to date and reports whether every keeper answered and was done with the period.
func (e *Engine) collect(ctx context.Context, r round) bool {
	ctx, cancel := e.Tasks.Timeout(ctx, max(e.Timing.Round/3, 200*time.Millisecond))
	defer cancel()
	var missed atomic.Bool
	var ask []func()
	for _, key := range e.others(r) {
		ask = append(ask, func() {
			got, err := e.Peers.Statements(ctx, key, r.period)
			if err != nil {
				missed.Store(true)
				e.Log.Debug().Err(err).Stringer("keeper", key).Uint64("period", uint64(r.period)).Msg("statements")
				return
			}
			e.Learn(got, r.period)
		})
	}
	e.Tasks.All(ask...)
	return !missed.Load()
}

// Learn verifies statements of a period and puts them into the pool.
func (e *Engine) Learn(got []protocol.SignedStatement, p wire.Period) {
	for _, raw := range got {
		s, err := statement.Read(raw)
		if err != nil || s.Statement.Period != p || e.Pool.Has(s) {
			continue
		}
		if s.Verify(e.Domain) != nil {
			continue
		}
		if _, err := e.Pool.Add(s); err != nil {
			e.Log.Warn().Err(err).Msg("statement")
		}
	}
}

// propose publishes a proposal of what the pool holds and votes for it.
func (e *Engine) propose(ctx context.Context, r round, s *state, n uint32) error {
	if _, err := e.Book.Voted(r.period); err == nil || len(s.sound) > 0 {
		return nil // a proposal came in meanwhile
	}
	s.proposed = int64(n)
	in := e.input(r)
	own, err := e.own(r.period)
	if err != nil {
		return err
	}
	for _, mine := range own {
		if _, err := e.Pool.Add(mine); err != nil {
			e.Log.Warn().Err(err).Msg("own statement")
		}
	}
	in.Statements = e.Pool.Period(r.period)
	m, set, err := report.Propose(in, n, e.Signer)
	if errors.Is(err, report.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	s.sound[set.Root], s.rounds[set.Root] = m, n
	e.keepSet(set)
	e.Observe.Proposed(uint64(r.period))
	e.Log.Debug().Uint64("period", uint64(r.period)).Uint32("round", n).Int("leaves", len(set.Leaves)).Int("statements", len(m.Statements)).Msg("proposing")
	e.publish(ctx, m)
	return e.choose(ctx, r, s, m)
}

// fetch asks the peers for proposals with these roots.
func (e *Engine) fetch(ctx context.Context, r round, s *state, roots []wire.Hash) {
	if s.fetching || e.Now().Before(s.fetchAt) {
		return
	}
	s.fetching = true
	final := wire.Hash{}
	if r.report != nil {
		final = r.report.Root
	}
	// Each begins with another keeper, and with the next one after a failure: the first may be the one that is gone.
	others := e.others(r)
	if len(others) > 0 {
		first := (int(e.Signer.PublicKey()[0]) + s.fetches) % len(others)
		others = slices.Concat(others[first:], others[:first])
	}
	s.fetches++
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		fctx, cancel := e.Tasks.Timeout(ctx, 2*time.Second)
		defer cancel()
		var found []protocol.Proposal
		for _, root := range roots {
			for _, key := range others {
				m, err := e.Peers.Proposal(fctx, key, r.period, root)
				if err == nil && wire.Hash(m.Root) == root && m.Period == uint64(r.period) {
					found = append(found, m)
					break
				}
			}
		}
		return func(context.Context) {
			s.fetching = false
			s.fetchAt = e.Now().Add(retry)
			for _, m := range found {
				e.consider(m)
				if wire.Hash(m.Root) == final {
					e.adopt(m)
				}
			}
		}
	})
}

// adopt keeps the leaf set of a report that the chain made final.
func (e *Engine) adopt(m protocol.Proposal) {
	set, err := report.ReadSet(m)
	if err != nil {
		e.Log.Warn().Err(err).Uint64("period", m.Period).Msg("leaf set of a final report")
		return
	}
	raw, err := p2p.Encode(m)
	if err == nil {
		err = e.Book.PutProposal(set.Period, set.Root, raw)
	}
	if err != nil {
		e.Log.Error().Err(err).Uint64("period", m.Period).Msg("leaf set was not kept")
		return
	}
	e.keepSet(set)
}
