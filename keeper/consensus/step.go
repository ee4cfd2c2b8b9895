package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/store"
)

// hurry is how many times round the keepers propose before a period without a final report becomes an old one.
const hurry = 4

// Old periods wait for a network that is cut for long, or for keepers that are down. Their sets of statements are large, so
// that only some are looked after at a time, each for some rounds, until they can be voted on no more.
const (
	oldAbreast = 4
	oldRounds  = 4
)

// retry is the pause before something that failed is tried again.
const retry = 700 * time.Millisecond

// step looks at every period that is sealed and may still be voted on.
func (e *Engine) step(ctx context.Context) error {
	sealed, err := e.o.Store.Sealed()
	if err != nil || sealed == 0 {
		return err
	}
	_, retention, ok := e.view(sealed - 1)
	if !ok {
		return nil
	}
	var secs uint32
	e.o.View.Read(func(v *view.Accounts) { secs = v.Market.Params.PeriodSecs })
	back := records.Period(retention/int64(secs)) + 1
	first := sealed - min(back, sealed)
	for p := range e.states {
		if p < first {
			delete(e.states, p)
		}
	}
	e.dropSets(first)
	e.cache.drop(first)
	if e.o.Pool != nil {
		e.o.Pool.Drop(first)
	}
	var open []round
	for p := first; p < sealed; p++ {
		if s, ok := e.states[p]; ok && s.settled {
			e.clear(p, s, int64(p+1)*int64(secs))
			continue
		}
		r, _, ok := e.view(p)
		if !ok {
			return nil
		}
		if e.o.Now().Unix() <= r.end+retention {
			open = append(open, r)
		}
	}
	e.takeTurns(open)
	for _, r := range open {
		if err := e.period(ctx, r); err != nil {
			return fmt.Errorf("period %d: %w", r.period, err)
		}
	}
	return nil
}

// running is the round that runs now; negative before the first.
func (e *Engine) running(r round) int64 {
	into := e.o.Now().Sub(time.Unix(r.end, 0).Add(e.o.Timing.Delay))
	if into < 0 {
		return -1
	}
	return int64(into / e.o.Timing.Round)
}

// isOld reports whether a period had its time and has no final report.
func (e *Engine) isOld(r round) bool {
	return len(r.weights) > 0 && e.running(r) >= hurry*int64(len(r.weights)) && (r.report == nil || r.report.State() != market.ReportFinal)
}

// takeTurns says which old periods are looked after now. It follows from the chain and the clock, so that all keepers look
// after the same ones.
func (e *Engine) takeTurns(open []round) {
	var old []records.Period
	for _, r := range open {
		if e.isOld(r) {
			old = append(old, r.period)
		}
	}
	e.turn = map[records.Period]bool{}
	at := int(e.o.Now().UnixNano()/int64(oldRounds*e.o.Timing.Round)) * oldAbreast
	for i := range min(oldAbreast, len(old)) {
		e.turn[old[(at+i)%len(old)]] = true
	}
}

func (e *Engine) state(p records.Period) *state {
	s, ok := e.states[p]
	if !ok {
		s = newState()
		e.states[p] = s
	}
	return s
}

// period does what one period needs now.
func (e *Engine) period(ctx context.Context, r round) error {
	s := e.state(r.period)
	if r.report != nil && r.report.State() == market.ReportFinal {
		return e.final(ctx, r, s)
	}
	if r.weights[e.o.Signer.PublicKey()] == 0 {
		return nil
	}
	if e.isOld(r) && !e.turn[r.period] {
		e.cache.clear(r.period)
		s.own, s.docket = nil, nil
		return nil
	}
	if err := e.ours(ctx, r, s); err != nil {
		return err
	}
	e.pull(ctx, r, s, nil)
	if !r.active {
		return nil // we have left since; others can still have our statements
	}
	n := e.running(r)
	if n < 0 {
		e.prefetch(ctx, r, s)
		return nil
	}
	e.again(ctx, r, s)
	voted, err := e.o.Store.Voted(r.period)
	switch {
	case err == nil:
		return e.stand(ctx, r, s, n, voted)
	case !errors.Is(err, store.ErrNotFound):
		return err
	case r.onChain:
		return nil // voted by an earlier life of this keeper whose store is gone
	}
	return e.decide(ctx, r, s, n)
}

// lateVotes is for how many rounds after a report has become final a keeper tries to check it and vote for it.
const lateVotes = 20

// final gets hold of the leaf set of a final report, and votes for it if it can be checked: a vote counts in the
// keeper's record even when it is not needed any more.
func (e *Engine) final(ctx context.Context, r round, s *state) error {
	root := records.Hash(r.report.Root)
	if e.Set(r.period, root) == nil {
		e.fetch(ctx, r, s, []records.Hash{root})
		return nil
	}
	if !s.final {
		s.final = true
		e.o.Observe.Final(uint64(r.period), time.Duration(r.report.FinalisedAt-r.end)*time.Second)
	}
	mine, err := e.o.Store.Voted(r.period)
	m, sound := s.sound[root]
	if !sound {
		m, sound = s.bearable[root]
	}
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case r.onChain, !r.active, r.weights[e.o.Signer.PublicKey()] == 0:
		s.settled = true
	case err == nil && mine != root:
		s.settled = true // we voted for another root; that vote is pointless now
	case err == nil:
		e.vote(ctx, r, s, root)
	case sound:
		return e.choose(ctx, r, s, m)
	case len(s.waiting) > 0 && e.o.Now().Before(time.Unix(r.report.FinalisedAt, 0).Add(lateVotes*e.o.Timing.Round)):
		e.pull(ctx, r, s, nil)
		e.again(ctx, r, s)
	default:
		s.settled = true
	}
	return nil
}

// clear gives back the memory of a period that is settled, once nobody asks for its statements any more.
func (e *Engine) clear(p records.Period, s *state, end int64) {
	if s.cleared || e.o.Now().Before(time.Unix(end, 0).Add(e.o.Timing.Delay+2*lateVotes*e.o.Timing.Round)) {
		return
	}
	s.cleared, s.docket, s.roster, s.sets, s.waiting = true, nil, nil, nil, nil
	e.cache.clear(p)
}

// prefetch lets the first proposer ask for statements before its round begins, so that little is missing then.
func (e *Engine) prefetch(ctx context.Context, r round, s *state) {
	first, ok := report.Proposer(r.period, 0, r.weights)
	early := e.o.Now().Before(time.Unix(r.end, 0).Add(e.o.Timing.Delay / 2))
	if !ok || s.prefetched || early || first != e.o.Signer.PublicKey() {
		return
	}
	s.prefetched = true
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		e.collect(ctx, r)
		return nil
	})
}

// decide votes for an acceptable root that has votes already; when it is our turn, it opens a root.
func (e *Engine) decide(ctx context.Context, r round, s *state, n int64) error {
	var missing []records.Hash
	for _, c := range candidates(r.report) {
		if m, ok := s.acceptable(r, n, c); ok {
			return e.choose(ctx, r, s, m)
		}
		if e.o.Now().After(s.unsound[c.Root]) {
			missing = append(missing, c.Root)
		}
		if vouched(c, r) {
			// Whoever voted for it holds the proposal: it comes when the network heals.
			if len(missing) > 0 {
				e.fetch(ctx, r, s, missing)
			}
			return nil
		}
	}
	if len(missing) > 0 {
		e.fetch(ctx, r, s, missing)
		if n == 0 {
			return nil // what has votes goes first, for a round
		}
	}
	// Two roots should not be opened at once, since votes that are apart take time to come together: only the proposer of the
	// running round opens one, and the chain says to everyone else which was first. A proposer that shows different proposals
	// to different keepers can vote for one of them only.
	proposer, ok := report.Proposer(r.period, uint32(n), r.weights)
	if !ok || proposer != e.o.Signer.PublicKey() {
		return nil
	}
	if m, ok := s.first(); ok {
		return e.choose(ctx, r, s, m)
	}
	if s.proposed < n && !s.gathering {
		e.gather(ctx, r, s, uint32(n))
	}
	return nil
}

// first is the sound proposal that was first made: of the lowest round, then of the smaller root.
func (s *state) first() (messages.Proposal, bool) {
	var best messages.Proposal
	found := false
	for root, m := range s.sound {
		if !found || s.rounds[root] < s.rounds[best.Root] ||
			(s.rounds[root] == s.rounds[best.Root] && bytes.Compare(root[:], best.Root[:]) < 0) {
			best, found = m, true
		}
	}
	return best, found
}

// repeat publishes the proposal that we voted for again when it is our turn and the report is not final, for keepers
// that missed it.
func (e *Engine) repeat(ctx context.Context, r round, s *state, n int64, root records.Hash) error {
	proposer, ok := report.Proposer(r.period, uint32(n), r.weights)
	if !ok || proposer != e.o.Signer.PublicKey() || s.proposed >= n {
		return nil
	}
	s.proposed = n
	m, err := e.kept(r.period, root)
	if err != nil {
		return err
	}
	if m, err = report.Resign(m, e.o.Domain, uint32(n), e.o.Signer); err != nil {
		return err
	}
	e.publish(ctx, m)
	return nil
}

func (e *Engine) publish(ctx context.Context, m messages.Proposal) {
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		if err := e.o.Peers.Publish(ctx, m); err != nil && ctx.Err() == nil {
			e.o.Log.Warn().Err(err).Uint64("period", m.Period).Msg("proposal was not published")
		}
		return nil
	})
}
