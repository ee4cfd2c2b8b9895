package consensus

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// considerAll looks at proposals in the given order.
func (e *Engine) considerAll(ctx context.Context, all []messages.Proposal) {
	for _, m := range all {
		e.consider(ctx, m)
	}
}

// authentic reports whether a proposal is signed by its proposer and names what keepers with enough weight have signed,
// and whether its period and its round have come.
func (e *Engine) authentic(m messages.Proposal) bool {
	c, retention, ok := e.chain(records.Period(m.Period))
	now := e.o.Now()
	if !ok || now.Unix() > c.end+retention || int64(m.Round) > c.round(now, e.o.Timing)+1 {
		return false
	}
	if err := report.Authentic(m, e.o.Domain, c.weights, e.o.Keys); err != nil {
		e.o.Log.Debug().Err(err).Uint64("period", m.Period).Msg("the keeper drops a proposal")
		return false
	}
	return true
}

// consider checks an authentic proposal and remembers the outcome. One that names statements which are not here waits
// for them.
func (e *Engine) consider(ctx context.Context, m messages.Proposal) {
	p := records.Period(m.Period)
	sealed, err := e.o.Store.Sealed()
	if err != nil || p >= sealed {
		return // not ours to judge yet: it is published again
	}
	c, retention, ok := e.chain(p)
	if !ok || e.o.Now().Unix() > c.end+retention {
		return
	}
	s := e.state(p)
	known := s.proposals.of(m.Root)
	if known.standing == sound || s.progress >= finished || e.o.Now().Before(known.refusedUntil) {
		return
	}
	if c.weights[e.o.Signer.PublicKey()] > 0 {
		if err := e.announce(ctx, c, s); err != nil {
			e.o.Log.Error().Err(err).Uint64("period", m.Period).Msg("own manifest was not made")
			return
		}
	}
	set, err := e.check(c, s, m)
	switch {
	case errors.Is(err, report.ErrMissing):
		s.proposals.wait(m)
		from := solana.PublicKey(m.Proposer)
		e.fetchMissing(ctx, c, s, &from)
		return
	case err == nil:
		s.proposals.keep(sound, m, set)
		e.keepLeaves(set)
		return
	case set != nil:
		s.proposals.keep(omitting, m, set)
		e.keepLeaves(set)
	}
	// What we know of the chain may lag behind what the proposer knew.
	s.proposals.refuse(m.Root, e.o.Now().Add(e.o.Timing.Round))
	e.o.Observe.Refused(m.Period, err)
	e.o.Log.Warn().Err(err).Uint64("period", m.Period).Stringer("proposer", solana.PublicKey(m.Proposer)).Msg("proposal refused")
}

// check says whether we would vote for an authentic proposal, and returns the leaves behind its root. With ErrOmission
// it returns them too, if the root follows from the statements that the proposal names: these are the complete sets of
// more than two thirds of the weight all the same, so that its leaves are as good as those of ours would be. It is not
// what we vote for unless others have: see facts.acceptable. Errors: those of report.Check.
func (e *Engine) check(c chainFacts, s *periodState, m messages.Proposal) (*report.Set, error) {
	readable := true
	for _, raw := range m.Manifests {
		x := statement.ReadManifest(raw) // Authentic has verified it
		e.addManifest(x)
		readable = readable && !s.unreadable[refOf(x)]
	}
	if !readable {
		return nil, report.ErrProposal
	}
	roster, ok := e.roster(c, s)
	if !ok {
		return nil, report.ErrMissing
	}
	omission := report.ErrOmission
	if !e.omitsKeeper(c, s, m) {
		var set *report.Set
		if set, omission = report.Check(m, e.updateTally(c, s), c.weights, roster, s.own); !errors.Is(omission, report.ErrOmission) {
			return set, omission
		}
	}
	set, err := report.Check(m, e.updateTally(c, s), c.weights, roster, nil)
	if errors.Is(err, report.ErrMissing) {
		return nil, err
	}
	return set, omission
}

// omitsKeeper reports whether a proposal leaves out a keeper whose statements we have had for long enough that the
// proposer could have them too, since it asks all keepers. Without this a dishonest proposer could choose which honest
// keepers do not count.
func (e *Engine) omitsKeeper(c chainFacts, s *periodState, m messages.Proposal) bool {
	for _, x := range e.cache.usableSince(c.period, e.o.Now().Add(-e.o.Timing.grace())) {
		named := slices.ContainsFunc(m.Manifests, func(y messages.Manifest) bool { return y.Keeper == x.Keeper })
		if c.weights[x.Keeper] > 0 && !s.unreadable[refOf(x)] && !named {
			return true
		}
	}
	return false
}

// roster draws the committees of a period; false while its seed is not known.
func (e *Engine) roster(c chainFacts, s *periodState) (*committee.Roster, bool) {
	if s.roster != nil && maps.Equal(s.drawnBy, c.weights) {
		return s.roster, true
	}
	var seed committee.Seed
	if e.o.Seeds != nil && !committee.NewRoster(seed, c.weights).Everyone() {
		var ok bool
		if seed, ok = e.o.Seeds(c.period); !ok {
			return nil, false
		}
	}
	s.roster, s.drawnBy = committee.NewRoster(seed, c.weights), maps.Clone(c.weights)
	return s.roster, true
}

// updateTally counts the sets of statements that came in since.
func (e *Engine) updateTally(c chainFacts, s *periodState) *report.Tally {
	if s.tally == nil {
		s.tally = report.NewTally(frameOf(e.o.Domain, c))
	}
	for _, m := range e.cache.manifests(c.period) {
		ref := refOf(m)
		raw := e.cache.set(c.period, ref)
		if raw == nil || s.tally.Has(ref) || s.unreadable[ref] {
			continue
		}
		if _, err := s.tally.Add(m.Keeper, raw); err != nil {
			s.unreadable[ref] = true
			e.o.Log.Warn().Err(err).Stringer("keeper", m.Keeper).Uint64("period", uint64(c.period)).Msg("a keeper's statements cannot be read")
		}
	}
	return s.tally
}

// frameOf is what the statements of a period have in common.
func frameOf(domain records.Domain, c chainFacts) statement.Frame {
	return statement.Frame{Domain: domain, Period: c.period, Secs: c.secs}
}
