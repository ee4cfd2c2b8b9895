package consensus

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// facts is all that a decision about a period rests on.
type facts struct {
	now    time.Time
	timing Timing
	self   solana.PublicKey
	chain  chainFacts

	// dormant: the period is an old one, and others have their turn now.
	dormant bool

	// What the store says.
	manifestDue bool          // we may sign a manifest and have not
	stored      *records.Hash // the root that we vote for; nil for none
	leavesHeld  bool          // of the final report

	// What the engine remembers.
	progress   progress
	tasks      tasks
	proposed   int64 // last round in which we proposed; -1 for none
	missing    bool  // sets of statements are missing whose manifests are known
	waiting    bool  // proposals wait for sets
	candidates []candidate
	first      *records.Hash // the sound proposal that was made first; nil for none
	final      standing      // of the final root's proposal

	// reconsidered: the proposals that wait have been looked at again just now.
	reconsidered bool
}

// candidate is a root that has votes on chain.
type candidate struct {
	root   records.Hash
	weight uint64
	// honest: a third of the weight has voted for it, so that some of these votes are honest, however many keepers lie.
	honest   bool
	standing standing
	refused  bool // a moment ago, so that it is not asked for again yet
}

// chainFacts is what the chain says about a period and this keeper.
type chainFacts struct {
	period  records.Period
	secs    uint32
	end     int64 // of the period, unix seconds
	nodes   int   // that are registered
	weights report.Weights
	report  *market.Report // nil before the first vote
	active  bool           // we may vote
	counted bool           // the chain counts a vote of ours
	voted   records.Hash   // for this root
}

// isFinal reports whether the report of the period is final.
func (c chainFacts) isFinal() bool { return c.report != nil && c.report.State() == market.ReportFinal }

// roots are those that have votes on chain, the heaviest first and of equal ones the smaller: the order in which all
// keepers prefer them.
func (c chainFacts) roots() []bindings.Candidate {
	if c.report == nil {
		return nil
	}
	cs := slices.DeleteFunc(slices.Clone(c.report.Roots()), func(c bindings.Candidate) bool { return c.Weight == 0 })
	slices.SortFunc(cs, func(a, b bindings.Candidate) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), bytes.Compare(a.Root[:], b.Root[:]))
	})
	return cs
}

// honest reports whether a third of the weight has voted for a root: some of these votes are honest, however many lie.
func (c chainFacts) honest(root bindings.Candidate) bool { return 3*root.Weight >= c.weights.Total() }

// round is the one that runs now; negative before the first.
func (c chainFacts) round(now time.Time, t Timing) int64 {
	into := now.Sub(time.Unix(c.end, 0).Add(t.Delay))
	if into < 0 {
		return -1
	}
	return int64(into / t.Round)
}

// chain reads what the chain says of a period; ok is false before the market is known.
func (e *Engine) chain(p records.Period) (c chainFacts, retention int64, ok bool) {
	e.o.View.Read(func(v *view.Accounts) {
		params, known := v.Params()
		if ok = known; !ok {
			return
		}
		c = chainFacts{period: p, secs: params.PeriodSecs, end: int64(p+1) * int64(params.PeriodSecs)}
		retention = int64(params.ReportRetentionSecs)
		c.nodes, c.weights = len(v.Nodes), v.Weights(c.end)
		c.report = v.Reports[uint64(p)]
		if k, ok := v.Keepers[e.o.Signer.PublicKey()]; ok {
			c.active = k.State() == market.KeeperActive
			c.voted, c.counted = v.Voted(uint64(p), k.Index)
		}
	})
	return c, retention, ok
}

// facts collects what a decision about a period needs: from the chain's state, the store, the cache of statement sets,
// what the engine remembers, and the clock.
func (e *Engine) facts(c chainFacts, s *periodState) (facts, error) {
	f := facts{
		now: e.o.Now(), timing: e.o.Timing, self: e.o.Signer.PublicKey(), chain: c,
		progress: s.progress, tasks: s.tasks, proposed: s.proposed, waiting: len(s.proposals.waiting) > 0,
	}
	f.dormant = isOld(c, f.now, f.timing) && !e.attended[c.period]
	if f.dormant || s.progress >= finished {
		return f, nil // the rest does not matter, and there may be many such periods
	}
	f.manifestDue = s.own == nil && !s.withheld && c.period >= e.o.Store.FirstPeriod()
	f.missing = len(e.cache.missing(c.period)) > 0
	switch voted, err := e.o.Store.Voted(c.period); {
	case err == nil:
		f.stored = &voted
	case !errors.Is(err, store.ErrNotFound):
		return f, err
	}
	if root, ok := s.proposals.first(); ok {
		f.first = &root
	}
	if c.isFinal() {
		f.leavesHeld = e.Set(c.period, c.report.Root) != nil
		f.final = s.proposals.of(c.report.Root).standing
		return f, nil
	}
	for _, r := range c.roots() {
		known := s.proposals.of(r.Root)
		f.candidates = append(f.candidates, candidate{
			root: r.Root, weight: r.Weight, honest: c.honest(r), standing: known.standing, refused: !f.now.After(known.refusedUntil),
		})
	}
	return f, nil
}
