package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// others are the keepers of a round but us, in one order.
func (e *Engine) others(r round) []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(r.weights))
	for key := range r.weights {
		if key != e.o.Signer.PublicKey() {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// gather asks every keeper for what it knows of, gets what is missing, then proposes.
func (e *Engine) gather(ctx context.Context, r round, s *state, n uint32) {
	s.gathering = true
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		complete := e.collect(ctx, r)
		return func(ctx context.Context) {
			s.gathering = false
			// A keeper that is not done yet, or does not answer, gets the first half of the round.
			late := e.o.Now().Sub(time.Unix(r.end, 0).Add(e.o.Timing.Delay)) - time.Duration(n)*e.o.Timing.Round
			if !complete && late < e.o.Timing.Round/2 {
				return
			}
			// Asking took time: what was opened on chain meanwhile goes first, and so does what a third has voted for.
			now, _, ok := e.view(r.period)
			if !ok {
				return
			}
			cs := candidates(now.report)
			if len(cs) > len(candidates(r.report)) || len(cs) > 0 && vouched(cs[0], now) {
				return
			}
			if err := e.propose(ctx, r, s, n); err != nil {
				e.o.Log.Error().Err(err).Uint64("period", uint64(r.period)).Msg("proposal")
			}
		}
	})
}

// collect brings the cache up to date and reports whether every keeper answered, was done with the period, and its
// statements are here.
func (e *Engine) collect(ctx context.Context, r round) bool {
	ctx, cancel := e.o.Tasks.Timeout(ctx, max(e.o.Timing.Round/3, 200*time.Millisecond))
	defer cancel()
	var missed atomic.Bool
	var ask []func()
	for _, key := range e.others(r) {
		ask = append(ask, func() {
			got, err := e.o.Peers.Manifests(ctx, key, r.period)
			if err != nil {
				missed.Store(true)
				e.o.Log.Debug().Err(err).Stringer("keeper", key).Uint64("period", uint64(r.period)).Msg("manifests")
				return
			}
			e.Learn(got, r.period)
			for _, m := range e.cache.missing(r.period) {
				if m.Keeper == key {
					e.fetchSet(ctx, r, m, nil)
				}
			}
		})
	}
	e.o.Tasks.All(ask...)
	e.get(ctx, r, e.cache.missing(r.period), nil) // of keepers that do not answer us
	for _, key := range e.others(r) {
		if !e.cache.from(r.period, key) {
			missed.Store(true)
		}
	}
	return !missed.Load()
}

// Learn verifies manifests of a period and keeps them.
func (e *Engine) Learn(got []messages.Manifest, p records.Period) {
	for _, raw := range got[:min(len(got), maxManifests*report.MaxManifests)] {
		m := statement.ReadManifest(raw)
		if m.Period != p || e.cache.knows(m) || m.Verify(e.o.Domain) != nil || !e.keeps(m.Keeper) {
			continue
		}
		e.learn(m)
	}
}

// propose publishes a proposal of the sets that are here and votes for it.
func (e *Engine) propose(ctx context.Context, r round, s *state, n uint32) error {
	if _, err := e.o.Store.Voted(r.period); err == nil || len(s.sound) > 0 {
		return nil // a proposal came in meanwhile
	}
	roster, ok := e.roster(r, s)
	if !ok {
		return nil // the seed is not known yet
	}
	s.proposed = int64(n)
	d := e.counted(r, s)
	var use []statement.Manifest
	for _, m := range e.cache.usable(r.period) {
		if r.weights[m.Keeper] > 0 && d.Has(refOf(m)) {
			use = append(use, m)
		}
	}
	m, set, err := report.Propose(d, r.weights, roster, e.tier(r), use, n, e.o.Signer)
	if errors.Is(err, report.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	if report.Authentic(m, e.o.Domain, r.weights) != nil {
		s.proposed = int64(n) - 1 // too few keepers' statements are here; they may still come in this round
		return nil
	}
	s.accept(m, set, n)
	e.keepSet(set)
	e.o.Observe.Proposed(uint64(r.period))
	e.o.Log.Debug().Uint64("period", uint64(r.period)).Uint32("round", n).Int("leaves", len(set.Leaves)).Int("keepers", len(use)).Msg("proposing")
	e.publish(ctx, m)
	return e.choose(ctx, r, s, m)
}

// fetch asks the peers for proposals with these roots, and for the leaves of the one that is final.
func (e *Engine) fetch(ctx context.Context, r round, s *state, roots []records.Hash) {
	if s.fetching || e.o.Now().Before(s.fetchAt) {
		return
	}
	s.fetching = true
	final := records.Hash{}
	if r.report != nil {
		final = r.report.Root
	}
	// Each begins with another keeper, and with the next one after a failure: the first may be the one that is gone.
	others := e.others(r)
	if len(others) > 0 {
		first := (int(e.o.Signer.PublicKey()[0]) + s.fetches) % len(others)
		others = slices.Concat(others[first:], others[:first])
	}
	roots = wanted(roots, s.fetches)
	s.fetches++
	held := final != records.Hash{} && e.Set(r.period, final) != nil
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		fctx, cancel := e.o.Tasks.Timeout(ctx, 2*time.Second)
		defer cancel()
		var found []messages.Proposal
		for _, root := range roots {
			for _, key := range others {
				m, err := e.o.Peers.Proposal(fctx, key, r.period, root)
				if err == nil && records.Hash(m.Root) == root && m.Period == uint64(r.period) {
					found = append(found, m)
					break
				}
			}
		}
		var leaves *report.Set
		if final != (records.Hash{}) && !held {
			leaves = e.leavesOf(ctx, r, final, others)
		}
		return func(ctx context.Context) {
			s.fetching = false
			s.fetchAt = e.o.Now().Add(retry)
			for _, m := range found {
				e.consider(ctx, m)
			}
			if leaves != nil {
				e.adopt(leaves)
			}
		}
	})
}

// wanted are the roots that one round of questions is about: the heaviest four, and four of the others in turn. Any keeper
// may vote for a root of which nobody has a proposal; asking all for all of them would be work without end.
func wanted(roots []records.Hash, turn int) []records.Hash {
	const some = 4
	if len(roots) <= 2*some {
		return roots
	}
	rest := roots[some:]
	out := slices.Clone(roots[:some])
	for i := range some {
		out = append(out, rest[(turn*some+i)%len(rest)])
	}
	return out
}

// leavesOf asks the peers for the leaves of a final report and checks them against the root on chain.
func (e *Engine) leavesOf(ctx context.Context, r round, root records.Hash, peers []solana.PublicKey) *report.Set {
	for _, key := range peers {
		raw, err := e.blob(ctx, key, messages.BlobLeaves, r.period, root, report.MaxLeafSet)
		if err == nil {
			var set *report.Set
			if set, err = report.ReadLeaves(raw, r.period, root); err == nil {
				return set
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		e.o.Log.Debug().Err(err).Stringer("peer", key).Uint64("period", uint64(r.period)).Msg("leaves of a final report")
	}
	return nil
}

// adopt keeps the leaf set of a report that the chain made final.
func (e *Engine) adopt(set *report.Set) {
	if err := e.o.Store.PutLeaves(set.Period, set.Root, set.EncodeLeaves()); err != nil {
		e.o.Log.Error().Err(err).Uint64("period", uint64(set.Period)).Msg("leaf set was not kept")
		return
	}
	e.keepSet(set)
}

// kept reads a proposal that we voted for, which the book holds.
func (e *Engine) kept(p records.Period, root records.Hash) (m messages.Proposal, err error) {
	raw, err := e.o.Store.Proposal(p, root)
	if err == nil {
		err = p2p.Decode(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("proposal that was voted for: %w", err)
	}
	return m, nil
}
