package crank

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txform"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Options of a Runner; all but More, OnlyMore, Log and Tasks are required.
type Options struct {
	View    *view.View
	Matcher *match.Matcher // follows View
	Self    solana.PublicKey
	Sets    Sets
	// More are sources of actions beyond those that follow from the accounts alone; each gets the clock of Due.
	More []func(v *view.Accounts, now int64) ([]Action, error)
	// OnlyMore: there are no other sources. Such a runner looks often, because its actions cannot wait.
	OnlyMore bool
	Submit   func(context.Context, txm.Intent) (txm.Result, error)
	// Form is the largest form of transactions that the cluster takes.
	Form     func(context.Context) txform.Form
	Interval time.Duration // between looks
	Step     time.Duration // that each rank waits
	Observe  func(kind Kind, actions int, outcome string, took time.Duration)
	// Overdue is told for how long an action was due, once some keeper has done it: the crank's lag.
	Overdue func(kind Kind, lag time.Duration)
	Log     zerolog.Logger
	Now     func() time.Time
	// Tasks sends the actions; the default is goroutines and the wall clock. Whoever gives another calls Tick in place
	// of Run, and waits for what Tasks has started.
	Tasks schedule.Runner
}

// Runner does what is due. Run owns all its goroutines.
type Runner struct {
	o Options

	stagger *schedule.Stagger
	kinds   map[string]Kind // of the groups that are due
	wg      sync.WaitGroup

	mu     sync.Mutex
	busy   map[string]bool      // being sent
	trials map[string]*refusals // by key
}

// refusals is a key's history.
type refusals struct {
	times int
	next  time.Time // not before
}

// MaxBatch is how many actions share a transaction at most. Nodes cut the log of a transaction above 10,000 bytes, and audits
// read events in it: eight actions stay below (sdk/market, figures of the engine's tests).
const MaxBatch = 8

const (
	maxInFlight = 16
	// sendTimeout bounds one submission; the transaction manager goes on with it all the same.
	sendTimeout = 45 * time.Second
	worstPause  = 2 * time.Minute
)

// New returns a runner that sends nothing before Run or Tick. Error: options.ErrMissing.
func New(o Options) (*Runner, error) {
	if err := options.Complete("crank", o, "More", "OnlyMore", "Log", "Tasks"); err != nil {
		return nil, err
	}
	o.Tasks = schedule.Or(o.Tasks)
	return &Runner{
		o: o, stagger: schedule.NewStagger(), kinds: map[string]Kind{}, busy: map[string]bool{}, trials: map[string]*refusals{},
	}, nil
}

// Run cranks until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	defer r.wg.Wait()
	var seen <-chan struct{}
	quiet := 0
	return schedule.Every(ctx, r.o.Interval, func() {
		// Time alone makes actions due as well, so that a quiet market is still looked at, only less often.
		if seen != nil && !changed(seen) && quiet < 3 {
			quiet++
			return
		}
		quiet = 0
		seen = r.o.View.Changed()
		r.Tick(ctx)
	})
}

func changed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Tick sends the due actions whose turn has come.
func (r *Runner) Tick(ctx context.Context) {
	now := r.o.Now()
	var actions []Action
	var keepers []solana.PublicKey
	var payer solana.PublicKey
	var err error
	r.o.View.Read(func(v *view.Accounts) {
		actions, err = r.due(v, now.Unix())
		keepers, payer = v.ActiveKeepers(), v.SignerOf(r.o.Self)
	})
	if err != nil {
		r.o.Log.Error().Err(err).Msg("crank action cannot be built")
	}
	groups := map[string]bool{}
	keys := map[string]bool{}
	var mine []Action
	for _, a := range actions {
		groups[a.Group], keys[a.Key] = true, true
		r.kinds[a.Group] = a.Kind
		if (a.Mine || r.stagger.Ready(a.Group, now, schedule.Rank(r.o.Self, a.Group, keepers), r.o.Step)) && r.free(a.Key, now) {
			mine = append(mine, a)
		}
	}
	for group, lag := range r.stagger.Gone(groups, now) {
		r.o.Overdue(r.kinds[group], lag)
	}
	maps.DeleteFunc(r.kinds, func(group string, _ Kind) bool { return !groups[group] })
	r.stagger.Keep(groups)
	r.forget(keys)
	if len(mine) == 0 {
		return
	}
	form := txform.Legacy
	if len(mine) > 1 { // one action alone is sent in whatever form it fits
		form = r.o.Form(ctx)
	}
	for _, b := range Pack(mine, payer, form, MaxBatch, r.alone) {
		if !r.take(b) {
			return // enough actions are in flight
		}
		r.wg.Add(1)
		r.o.Tasks.Go(func() {
			defer r.wg.Done()
			r.send(ctx, b)
		})
	}
}

// due lists the actions that follow from the accounts, and those of the other sources.
func (r *Runner) due(v *view.Accounts, now int64) (actions []Action, err error) {
	if !r.o.OnlyMore {
		actions, err = Due(v, r.o.Matcher, r.o.Self, now, r.o.Sets)
	}
	for _, more := range r.o.More {
		also, bad := more(v, now-Margin)
		actions, err = append(actions, also...), errors.Join(err, bad)
	}
	sortActions(actions)
	return actions, err
}

// free reports whether a key is neither being sent nor waiting after a refusal.
func (r *Runner) free(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trials[key]
	return !r.busy[key] && (t == nil || !now.Before(t.next))
}

// alone reports whether an action was refused before, so that it must not make others fail.
func (r *Runner) alone(a Action) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trials[a.Key] != nil
}

func (r *Runner) take(b Batch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.busy) >= maxInFlight*MaxBatch {
		return false
	}
	for _, a := range b.Actions {
		r.busy[a.Key] = true
	}
	return true
}

// forget drops the history of what is no longer due.
func (r *Runner) forget(keys map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.trials {
		if !keys[key] {
			delete(r.trials, key)
		}
	}
}

// id is the intent's id of a batch: the key of its action, or a hash of the keys.
func (r *Runner) id(b Batch) string {
	keys := b.Keys()
	if len(keys) == 1 {
		return keys[0]
	}
	return fmt.Sprintf("%s/batch/%x", b.Kind, sha256.Sum256([]byte(strings.Join(keys, "\n"))))
}

func (r *Runner) send(ctx context.Context, b Batch) {
	began := r.o.Now()
	ctx, cancel := r.o.Tasks.Timeout(ctx, sendTimeout)
	defer cancel()
	_, err := r.o.Submit(ctx, txm.Intent{
		ID: r.id(b), Kind: string(b.Kind), Instructions: b.Instructions(), Repeatable: true,
		ReadBack: func(context.Context) (bool, error) { return !r.anyDue(b), nil },
	})
	outcome := "done"
	switch {
	case err == nil:
	case Benign(b.Kind, err):
		outcome = "done-by-other"
		r.o.Log.Debug().Err(err).Strs("keys", b.Keys()).Msg("another keeper was faster")
	default:
		outcome = "failed"
		if ctx.Err() == nil {
			r.o.Log.Warn().Err(err).Strs("keys", b.Keys()).Msg("crank transaction failed")
		}
	}
	r.finish(b, err)
	r.o.Observe(b.Kind, len(b.Actions), outcome, r.o.Now().Sub(began))
}

// anyDue reports whether an action of the batch is still due.
func (r *Runner) anyDue(b Batch) bool {
	due := false
	r.o.View.Read(func(v *view.Accounts) {
		actions, err := r.due(v, r.o.Now().Unix())
		if err != nil {
			due = true
		}
		for _, a := range actions {
			for _, mine := range b.Actions {
				due = due || a.Key == mine.Key
			}
		}
	})
	return due
}

// finish frees the keys. After a refusal each waits, longer every time, and is sent alone.
func (r *Runner) finish(b Batch, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range b.Actions {
		delete(r.busy, a.Key)
		t := r.trials[a.Key]
		if t == nil {
			t = &refusals{}
		}
		pause := 2 * r.o.Interval // time for the watcher to see what was done
		if err != nil {
			t.times++
			pause = min(r.o.Interval<<min(t.times, 10), worstPause)
			if len(b.Actions) > 1 {
				pause = 0 // each alone, at once: only one of them was refused
			}
		}
		t.next = r.o.Now().Add(pause)
		r.trials[a.Key] = t
	}
}
