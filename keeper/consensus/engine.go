package consensus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// ErrNotSealed: the keeper is not done with the period yet.
var ErrNotSealed = errors.New("period is not sealed yet")

// Engine agrees with the other keepers on reports. Run may be called once.
type Engine struct {
	o      Options
	cache  manifestCache
	wg     sync.WaitGroup
	events chan func(context.Context) // what tasks and peers hand over; run one after the other

	// Only the goroutine that runs Tick and events uses these.
	periods  map[records.Period]*periodState
	attended map[records.Period]bool // old periods that have their turn now
	trouble  time.Time               // when trouble was logged last; zero without any

	mu     sync.Mutex
	sets   map[setKey]*report.Set // leaf sets of proposals that were checked and of final reports, for the crank
	served served
}

// setKey names a leaf set.
type setKey struct {
	period records.Period
	root   records.Hash
}

// periodState is what the engine remembers of a period.
type periodState struct {
	phase    phase // as last decided, for the log
	progress progress
	tasks    tasks

	own      *statement.Manifest // ours; nil until it is signed
	withheld bool                // we sign none: it might contradict one that we signed before

	tally      *report.Tally       // of the sets that are here
	unreadable map[report.Ref]bool // sets that cannot be counted
	roster     *committee.Roster   // the committees
	drawnBy    report.Weights      // the weights that the roster was drawn by

	proposals proposals
	heard     heard
	proposed  int64 // last round in which we proposed; -1 for none
	fetches   int   // how often proposals were asked for
}

func newPeriodState() *periodState {
	return &periodState{proposals: newProposals(), heard: heard{}, unreadable: map[report.Ref]bool{}, proposed: -1}
}

// New returns an engine; Run starts it. Error: ErrOptions.
func New(o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Keys == nil {
		o.Keys = records.Wallets
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Tasks = schedule.Or(o.Tasks)
	return &Engine{
		o: o, events: make(chan func(context.Context), 256),
		periods: map[records.Period]*periodState{}, sets: map[setKey]*report.Set{},
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
			if e.o.Turn != nil {
				e.o.Turn()
			}
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
	e.report(err)
	return nil
}

// troubleEvery is how often trouble that lasts is logged: a tick comes up to fifty times a second.
const troubleEvery = time.Minute

// report logs trouble when it begins and each minute of it, and its end.
func (e *Engine) report(err error) {
	now := e.o.Now()
	switch {
	case err == nil && e.trouble.IsZero():
	case err == nil:
		e.o.Log.Info().Msg("keeper looks at all periods again")
		e.trouble = time.Time{}
	case now.Sub(e.trouble).Abs() >= troubleEvery:
		e.o.Log.Error().Err(err).Msg("keeper could not look at all periods; it tries again")
		e.trouble = now
	}
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
			e.handOver(ctx, g)
		}
	})
}

// handOver has the engine run f in its own turn.
func (e *Engine) handOver(ctx context.Context, f func(context.Context)) {
	select {
	case e.events <- f:
	case <-ctx.Done():
	}
}

// HandleProposal takes a proposal that a peer has published. Signatures are verified by the caller's goroutine, so that
// nobody who sends many holds up the engine.
func (e *Engine) HandleProposal(ctx context.Context, m messages.Proposal) {
	if !e.authentic(m) {
		return
	}
	e.handOver(ctx, func(ctx context.Context) {
		if e.state(records.Period(m.Period)).heard.first(m.Round, m.Root) {
			e.consider(ctx, m)
		}
	})
}

// HandleManifest takes a manifest that a peer has published and that was verified.
func (e *Engine) HandleManifest(ctx context.Context, raw messages.Manifest) {
	m := statement.ReadManifest(raw)
	if !e.addManifest(m) {
		return
	}
	e.handOver(ctx, func(ctx context.Context) {
		if c, _, ok := e.chain(m.Period); ok {
			e.fetchMissing(ctx, c, e.state(m.Period), nil)
		}
	})
}
