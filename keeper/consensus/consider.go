package consensus

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// roster draws the committees of a period; false while its seed is not known.
func (e *Engine) roster(r round, s *state) (*committee.Roster, bool) {
	if s.roster != nil && maps.Equal(s.drawnBy, r.weights) {
		return s.roster, true
	}
	var seed committee.Seed
	if e.o.Seeds != nil && !committee.NewRoster(seed, r.weights).Everyone() {
		var ok bool
		if seed, ok = e.o.Seeds(r.period); !ok {
			return nil, false
		}
	}
	s.roster, s.drawnBy = committee.NewRoster(seed, r.weights), maps.Clone(r.weights)
	return s.roster, true
}

// tier is what the chain says about nodes' evidence at the end of the round's period.
func (e *Engine) tier(r round) func(node solana.PublicKey) uint8 {
	return func(n solana.PublicKey) (tier uint8) {
		e.o.View.Read(func(v *view.Accounts) { tier = v.Tier(n, r.end) })
		return tier
	}
}

// keeps reports whether a key is a keeper's.
func (e *Engine) keeps(key solana.PublicKey) (ok bool) {
	e.o.View.Read(func(v *view.Accounts) { _, ok = v.Keepers[key] })
	return ok
}

// consider checks a proposal and remembers the verdict. One that names statements which are not here waits for them.
func (e *Engine) consider(ctx context.Context, m messages.Proposal) {
	p := records.Period(m.Period)
	sealed, err := e.o.Store.Sealed()
	if err != nil || p >= sealed {
		return // not ours to judge yet: it is published again
	}
	r, retention, ok := e.view(p)
	if !ok || e.o.Now().Unix() > r.end+retention {
		return
	}
	s := e.state(p)
	root := records.Hash(m.Root)
	if _, known := s.sound[root]; known || s.settled || e.o.Now().Before(s.unsound[root]) {
		return
	}
	if err := report.Authentic(m, e.o.Domain, r.weights); err != nil {
		e.o.Log.Debug().Err(err).Uint64("period", m.Period).Msg("proposal")
		return
	}
	if r.weights[e.o.Signer.PublicKey()] > 0 {
		if err := e.ours(ctx, r, s); err != nil {
			e.o.Log.Error().Err(err).Msg("own statements")
			return
		}
	}
	broken := false
	for _, raw := range m.Manifests {
		x := statement.ReadManifest(raw) // Authentic has verified it
		e.learn(x)
		broken = broken || s.broken[refOf(x)]
	}
	roster, ok := e.roster(r, s)
	var set *report.Set
	switch err = report.ErrMissing; {
	case broken:
		err = report.ErrProposal
	case e.overlooks(r, s, m):
		err = report.ErrOmission
	case ok:
		set, err = report.Check(m, e.counted(r, s), r.weights, roster, e.tier(r), s.own)
	}
	if errors.Is(err, report.ErrOmission) {
		// It names the complete sets of more than two thirds of the weight all the same, so that its leaves are as good as
		// those of ours would be. It is not what we vote for unless others have: see decide.
		bearable, without := report.Check(m, e.counted(r, s), r.weights, roster, e.tier(r), nil)
		switch {
		case errors.Is(without, report.ErrMissing):
			err = without
		case without == nil:
			s.bearable[root], s.sets[root], s.rounds[root] = m, bearable, m.Round
			e.keepSet(bearable)
		}
	}
	if errors.Is(err, report.ErrMissing) {
		if len(s.waiting) < maxWaiting {
			s.waiting[root] = m
		}
		from := solana.PublicKey(m.Proposer)
		e.pull(ctx, r, s, &from)
		return
	}
	if err != nil {
		// What we know of the chain may lag behind what the proposer knew.
		s.unsound[root] = e.o.Now().Add(e.o.Timing.Round)
		e.o.Observe.Refused(m.Period, err)
		e.o.Log.Warn().Err(err).Uint64("period", m.Period).Stringer("proposer", solana.PublicKey(m.Proposer)).Msg("proposal refused")
		return
	}
	s.accept(m, set, m.Round)
	e.keepSet(set)
}

// overlooks reports whether a proposal leaves out a keeper whose statements we have had for long enough that the proposer
// could have them too, since it asks everybody. Without this a lying proposer chose which honest keepers are not heard.
func (e *Engine) overlooks(r round, s *state, m messages.Proposal) bool {
	for _, x := range e.cache.usableSince(r.period, e.o.Now().Add(-e.o.Timing.grace())) {
		if r.weights[x.Keeper] > 0 && !s.broken[refOf(x)] && !slices.ContainsFunc(m.Manifests, func(y messages.Manifest) bool { return y.Keeper == x.Keeper }) {
			return true
		}
	}
	return false
}

// maxWaiting bounds the proposals that wait for statements.
const maxWaiting = 16

// again looks at proposals that wait for the seed, for statements, or for us to see what their proposer saw.
func (e *Engine) again(ctx context.Context, r round, s *state) {
	if len(s.waiting) == 0 || s.pulling || e.o.Now().Before(s.pullAt) {
		return
	}
	waiting := s.waiting
	s.waiting = map[records.Hash]messages.Proposal{}
	e.considerAll(ctx, waiting)
}

// considerAll looks at proposals in one order.
func (e *Engine) considerAll(ctx context.Context, all map[records.Hash]messages.Proposal) {
	for _, root := range slices.SortedFunc(maps.Keys(all), func(a, b records.Hash) int { return bytes.Compare(a[:], b[:]) }) {
		e.consider(ctx, all[root])
	}
}
