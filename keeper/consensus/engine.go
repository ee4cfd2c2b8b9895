package consensus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
)

// ErrNotSealed: the keeper is not done with the period yet.
var ErrNotSealed = errors.New("period is not sealed yet")

// Engine agrees with the other keepers on reports. Run may be called once.
type Engine struct {
	o      Options
	cache  manifestCache
	wg     sync.WaitGroup
	events chan func(context.Context)
	states map[records.Period]*state
	turn   map[records.Period]bool // old periods that are looked after now

	mu     sync.Mutex
	sets   map[setKey]*report.Set // of proposals that were read, for the crank
	served served
}

type setKey struct {
	period records.Period
	root   records.Hash
}

// state is what is known of a period's report.
type state struct {
	own     *statement.Manifest
	silent  bool // the book has let us sign none
	docket  *report.Docket
	broken  map[report.Ref]bool // sets that cannot be read
	roster  *committee.Roster
	drawnBy report.Weights                     // the roster's
	waiting map[records.Hash]messages.Proposal // for statements
	pulling bool
	pullAt  time.Time // not before

	sound      map[records.Hash]messages.Proposal // checked: we would vote for them
	bearable   map[records.Hash]messages.Proposal // sound but for our own statements, which they leave out
	sets       map[records.Hash]*report.Set       // of sound and bearable
	rounds     map[records.Hash]uint32            // in which each was first seen
	unsound    map[records.Hash]time.Time         // refused, not looked at again before
	proposed   int64                              // last round in which we proposed
	gathering  bool
	prefetched bool
	fetching   bool
	fetches    int
	fetchAt    time.Time // not before
	voting     bool
	voteAt     time.Time // not before
	moveAt     time.Time // our vote stays where it is before
	final      bool      // its leaf set is held
	settled    bool      // nothing is left to do
	cleared    bool      // and nothing is left to give
}

func newState() *state {
	return &state{
		sound: map[records.Hash]messages.Proposal{}, bearable: map[records.Hash]messages.Proposal{}, sets: map[records.Hash]*report.Set{}, rounds: map[records.Hash]uint32{},
		unsound: map[records.Hash]time.Time{}, waiting: map[records.Hash]messages.Proposal{}, broken: map[report.Ref]bool{}, proposed: -1,
	}
}

// accept remembers a proposal that we would vote for.
func (s *state) accept(m messages.Proposal, set *report.Set, round uint32) {
	s.sound[set.Root], s.sets[set.Root], s.rounds[set.Root] = m, set, round
}

// New returns an engine; Run starts it. Error: ErrOptions.
func New(o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Tasks = schedule.Or(o.Tasks)
	return &Engine{
		o: o, events: make(chan func(context.Context), 256), states: map[records.Period]*state{}, sets: map[setKey]*report.Set{},
	}, nil
}

// Run works until ctx ends.
func (e *Engine) Run(ctx context.Context) error {
	defer e.wg.Wait()
	tick := time.NewTicker(min(max(e.o.Timing.Round/6, 20*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-e.events:
			f(ctx)
		case <-tick.C:
			if err := e.Tick(ctx); err != nil {
				return err
			}
		}
	}
}

// Tick does what the time has made due. An error means that the store is damaged.
func (e *Engine) Tick(ctx context.Context) error {
	err := e.step(ctx)
	if store.IsDamage(err) {
		e.o.Damaged(err)
		return err
	}
	if err != nil {
		e.o.Log.Error().Err(err).Msg("reports")
	}
	return nil
}

// Drain takes in what was handed over since, without waiting for more.
func (e *Engine) Drain(ctx context.Context) {
	for {
		select {
		case f := <-e.events:
			f(ctx)
		default:
			return
		}
	}
}

// later runs f beside the engine and then what it returns in the engine's own turn.
func (e *Engine) later(ctx context.Context, f func(context.Context) func(context.Context)) {
	e.wg.Add(1)
	e.o.Tasks.Go(func() {
		defer e.wg.Done()
		if g := f(ctx); g != nil {
			select {
			case e.events <- g:
			case <-ctx.Done():
			}
		}
	})
}

// Handle takes a proposal that a peer has published.
func (e *Engine) Handle(ctx context.Context, m messages.Proposal) {
	select {
	case e.events <- func(ctx context.Context) { e.consider(ctx, m) }:
	case <-ctx.Done():
	}
}

// round is the market as one step sees it.
type round struct {
	period  records.Period
	secs    uint32
	end     int64
	weights report.Weights
	report  *market.Report // nil before the first vote
	active  bool           // we may vote
	onChain bool           // we have voted
	voted   records.Hash   // for this root
}

// view reads what is known of a period; ok is false before the market is known.
func (e *Engine) view(p records.Period) (r round, retention int64, ok bool) {
	e.o.View.Read(func(v *view.Accounts) {
		params, known := v.Params()
		if ok = known; !ok {
			return
		}
		r = round{period: p, secs: params.PeriodSecs, end: int64(p+1) * int64(params.PeriodSecs)}
		retention = int64(params.ReportRetentionSecs)
		r.weights = v.Weights(r.end)
		r.report = v.Reports[uint64(p)]
		if k, ok := v.Keepers[e.o.Signer.PublicKey()]; ok {
			r.active = k.State() == market.KeeperActive
			r.voted, r.onChain = v.Voted(uint64(p), k.Index)
		}
	})
	return r, retention, ok
}

// Set returns the leaf set of a period with a root; nil when it is not held.
func (e *Engine) Set(p records.Period, root records.Hash) *report.Set {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.sets[setKey{p, root}]; ok {
		return s
	}
	raw, err := e.o.Store.Leaves(p, root)
	if err != nil {
		return nil
	}
	s, err := report.ReadLeaves(raw, p, root)
	if err != nil {
		e.o.Log.Error().Err(err).Uint64("period", uint64(p)).Msg("kept leaves are not sound")
		return nil
	}
	e.sets[setKey{p, root}] = s
	return s
}

func (e *Engine) keepSet(s *report.Set) {
	e.mu.Lock()
	e.sets[setKey{s.Period, s.Root}] = s
	e.mu.Unlock()
}

func (e *Engine) dropSets(before records.Period) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.sets {
		if k.period < before {
			delete(e.sets, k)
		}
	}
}
