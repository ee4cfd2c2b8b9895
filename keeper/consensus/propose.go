package consensus

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// others are the keepers with weight in a period but us, in one order.
func (e *Engine) others(c chainFacts) []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(c.weights))
	for key := range c.weights {
		if key != e.o.Signer.PublicKey() {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// prefetch asks all keepers for manifests and sets before our round begins, so that little is missing then.
func (e *Engine) prefetch(ctx context.Context, c chainFacts, s *periodState) {
	s.tasks.delay(taskPrefetch, never)
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		e.collect(ctx, c)
		return nil
	})
}

// gather asks every keeper for its manifests, fetches the sets that are missing, then proposes.
func (e *Engine) gather(ctx context.Context, c chainFacts, s *periodState, round uint32) {
	s.tasks.start(taskGather)
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		complete := e.collect(ctx, c)
		return func(ctx context.Context) {
			s.tasks.finish(taskGather)
			now, _, ok := e.chain(c.period)
			if !ok || !mayPropose(c, now, complete, e.o.Now(), round, e.o.Timing) {
				return
			}
			switch err := e.propose(ctx, c, s, round); {
			case errors.Is(err, store.ErrEarly):
				e.o.Log.Info().Uint64("period", uint64(c.period)).Msg("no proposal: this store is new, and signs from a later period on")
			case err != nil:
				e.o.Log.Error().Err(err).Uint64("period", uint64(c.period)).Msg("proposal was not made")
			}
		}
	})
}

// collect brings the cache up to date and reports whether every keeper answered, was done with the period, and its
// statements are here.
func (e *Engine) collect(ctx context.Context, c chainFacts) bool {
	ctx, cancel := e.o.Tasks.Timeout(ctx, max(e.o.Timing.Round/3, 200*time.Millisecond))
	defer cancel()
	var missed atomic.Bool
	var ask []func()
	for _, key := range e.others(c) {
		ask = append(ask, func() {
			got, err := e.o.Peers.Manifests(ctx, key, c.period)
			if err != nil {
				missed.Store(true)
				e.o.Log.Debug().Err(err).Stringer("keeper", key).Uint64("period", uint64(c.period)).Msg("a keeper did not list its manifests")
				return
			}
			e.addVerified(got, c.period)
			for _, m := range e.cache.missing(c.period) {
				if m.Keeper == key {
					e.fetchSet(ctx, c, m, nil)
				}
			}
		})
	}
	e.o.Tasks.All(ask...)
	e.fetchAll(ctx, c, e.cache.missing(c.period), nil) // of keepers that do not answer us
	for _, key := range e.others(c) {
		if !e.cache.hasSetOf(c.period, key) {
			missed.Store(true)
		}
	}
	return !missed.Load()
}

// propose publishes a proposal of the sets that are here and votes for it.
func (e *Engine) propose(ctx context.Context, c chainFacts, s *periodState, round uint32) error {
	if _, err := e.o.Store.Voted(c.period); !errors.Is(err, store.ErrNotFound) {
		return err // it has voted, or it is not known whether it has
	}
	if _, ok := s.proposals.first(); ok {
		return nil // a proposal came in meanwhile
	}
	roster, ok := e.roster(c, s)
	if !ok {
		return nil // the seed is not known yet
	}
	s.proposed = int64(round)
	tally := e.updateTally(c, s)
	var use []statement.Manifest
	for _, m := range e.cache.usable(c.period) {
		if c.weights[m.Keeper] > 0 && tally.Has(refOf(m)) {
			use = append(use, m)
		}
	}
	if !report.Enough(use, c.weights) {
		s.proposed = int64(round) - 1 // too few keepers' statements are here; they may still come in this round
		return nil
	}
	m, set, err := report.Propose(tally, c.weights, roster, use, round, e.o.Signer)
	if errors.Is(err, report.ErrEmpty) {
		return nil
	}
	if err == nil {
		err = report.Authentic(m, e.o.Domain, c.weights, e.o.Keys)
	}
	if err != nil {
		return err
	}
	s.proposals.keep(sound, m, set)
	e.keepLeaves(set)
	e.o.Observe.Proposed(uint64(c.period))
	e.o.Log.Debug().Uint64("period", uint64(c.period)).Uint32("round", round).Int("leaves", len(set.Leaves)).Int("keepers", len(use)).
		Msg("the keeper proposes a root")
	e.publish(ctx, m)
	return e.cast(ctx, c, s, m)
}

// repeat publishes the proposal that we voted for again, as one of this round.
func (e *Engine) repeat(ctx context.Context, c chainFacts, s *periodState, round uint32, root records.Hash) error {
	s.proposed = int64(round)
	m, err := e.storedProposal(c.period, root)
	if err != nil {
		return err
	}
	if m, err = report.Resign(m, e.o.Domain, round, e.o.Signer); err != nil {
		return err
	}
	e.publish(ctx, m)
	return nil
}

// publish sends a proposal to all keepers.
func (e *Engine) publish(ctx context.Context, m messages.Proposal) {
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		if err := e.o.Peers.Publish(ctx, m); err != nil && ctx.Err() == nil {
			e.o.Log.Warn().Err(err).Uint64("period", m.Period).Msg("proposal was not published")
		}
		return nil
	})
}
