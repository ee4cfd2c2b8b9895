package consensus

import (
	"context"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// poolPeriods is for how many sealed periods the single statements of other keepers are held. Each keeper has its own in
// its store for as long as appeals may need them.
const poolPeriods = 3

// step looks at every period that is sealed and may still be voted on.
func (e *Engine) step(ctx context.Context) error {
	sealed, err := e.o.Store.Sealed()
	if err != nil || sealed == 0 {
		return err
	}
	_, retention, ok := e.chain(sealed - 1)
	if !ok {
		return nil
	}
	var secs uint32
	e.o.View.Read(func(v *view.Accounts) { secs = v.Market.Params.PeriodSecs })
	back := records.Period(retention/int64(secs)) + 1
	first := sealed - min(back, sealed)
	e.forget(first)
	if e.o.Pool != nil {
		e.o.Pool.Drop(sealed - min(poolPeriods, sealed))
	}
	var open []chainFacts
	for p := first; p < sealed; p++ {
		if s, ok := e.periods[p]; ok && s.progress >= finished {
			if err := e.look(ctx, chainFacts{period: p, end: int64(p+1) * int64(secs)}, s); err != nil {
				return err
			}
			continue
		}
		c, _, ok := e.chain(p)
		if !ok {
			return nil
		}
		if e.o.Now().Unix() <= c.end+retention {
			open = append(open, c)
		}
	}
	e.attended = attend(open, e.o.Now(), e.o.Timing)
	for _, c := range open {
		if err := e.look(ctx, c, e.state(c.period)); err != nil {
			return fmt.Errorf("period %d: %w", c.period, err)
		}
	}
	return nil
}

// look does what one period needs now: it collects the facts, decides, and acts, until a decision changes no facts.
func (e *Engine) look(ctx context.Context, c chainFacts, s *periodState) error {
	for reconsidered := false; ; {
		f, err := e.facts(c, s)
		if err != nil {
			return err
		}
		f.reconsidered = reconsidered
		d := decide(f)
		if d.phase != s.phase && !d.again {
			e.o.Log.Debug().Uint64("period", uint64(c.period)).Stringer("from", s.phase).Stringer("to", d.phase).Msg("period enters another phase")
			s.phase = d.phase
		}
		for _, a := range d.actions {
			if err := e.perform(ctx, f, s, d, a); err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
			reconsidered = reconsidered || a == reconsiderProposals
		}
		if !d.again {
			return nil
		}
	}
}

// perform carries out one action of a decision.
func (e *Engine) perform(ctx context.Context, f facts, s *periodState, d decision, a action) error {
	c := f.chain
	switch a {
	case announceManifest:
		return e.announce(ctx, c, s)
	case fetchSets:
		e.fetchMissing(ctx, c, s, nil)
	case prefetchSets:
		e.prefetch(ctx, c, s)
	case reconsiderProposals:
		e.considerAll(ctx, s.proposals.takeWaiting())
	case fetchProposals:
		e.fetchProposals(ctx, c, s, d.roots)
	case gatherAndPropose:
		e.gather(ctx, c, s, uint32(c.round(f.now, f.timing)))
	case castVote:
		return e.cast(ctx, c, s, s.proposals.of(d.root).message)
	case moveVote, returnVote:
		m := s.proposals.of(d.root).message
		if a == returnVote {
			var err error
			if m, err = e.storedProposal(c.period, d.root); err != nil {
				return err
			}
		}
		e.o.Log.Info().Uint64("period", uint64(c.period)).Hex("from", f.stored[:4]).Hex("to", d.root[:4]).Msg("the vote moves to the heaviest root")
		return e.cast(ctx, c, s, m)
	case sendVote:
		e.sendVote(ctx, c.period, s, d.root)
	case repeatProposal:
		return e.repeat(ctx, c, s, uint32(c.round(f.now, f.timing)), d.root)
	case noteFinal:
		s.progress = leavesStored
		e.o.Observe.Final(uint64(c.period), time.Duration(c.report.FinalisedAt-c.end)*time.Second)
	case finishPeriod:
		s.progress = finished
	case releaseSets:
		e.cache.clear(c.period)
		s.own, s.tally = nil, nil
	case releaseAll:
		s.progress, s.tally, s.roster, s.proposals = released, nil, nil, newProposals()
		e.cache.clear(c.period)
	}
	return nil
}

// state returns what the engine remembers of a period.
func (e *Engine) state(p records.Period) *periodState {
	s, ok := e.periods[p]
	if !ok {
		s = newPeriodState()
		e.periods[p] = s
	}
	return s
}

// forget drops everything about periods that cannot be voted on any more.
func (e *Engine) forget(before records.Period) {
	for p := range e.periods {
		if p < before {
			delete(e.periods, p)
		}
	}
	e.forgetLeaves(before)
	e.cache.drop(before)
}
