// Package offer takes a machine out of the market while its owner wants it for something else, and brings it back
// later. It does so outside of the hours that the owner set, and while somebody uses the GPUs for something other than
// leases. It also takes out a machine that keepers measure below its class, before that costs stake; the owner brings
// such a machine back. Running leases continue until they end.
package offer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/hours"
	"github.com/gantry-market/gantry/sdk/market"
)

// DefaultQuiet is how long the GPUs must be unused before the machine takes leases again.
const DefaultQuiet = 15 * time.Minute

const (
	// lookEvery is the time between two looks at the clock, the node and the GPUs.
	lookEvery = 5 * time.Second
	// usedLooks is how many looks in a row must find a GPU used: what ends a lease may be seen for a moment.
	usedLooks = 2
	// sendAgain is how long the chain has to show a status that was sent.
	sendAgain = 20 * time.Second
)

// Options of New. All but Use, Quiet, SlowLimit, Slow and Silent are required.
type Options struct {
	Hours hours.Schedule
	// Use says who uses a GPU beside leases and the agent; empty for nobody. Nil: the owner's use does not count.
	Use func(context.Context) (string, error)
	// Quiet is how long the GPUs must be unused; 0 for DefaultQuiet.
	Quiet time.Duration
	// SlowLimit is how many measured periods below the class in a row cost stake, 0 while that is not known. Nil: the machine stays,
	// whatever it reaches.
	SlowLimit func() uint8
	// Slow is the file that remembers why a slow machine left; used with SlowLimit.
	Slow SlowFile
	// Silent says which GPU does not answer; empty for none. Nil: that is not known.
	Silent func() string
	// Fault says what is broken; empty for nothing.
	Fault func() string
	// Node is this machine's node; false while it is not known.
	Node func() (market.Node, bool)
	// Set sends a status of the node, and returns once it stands.
	Set func(context.Context, market.Node, market.NodeStatus) error
	// Mark is the file that remembers that the agent took the node out.
	Mark Mark
	Log  zerolog.Logger
	// Now is the chain's clock as well as the machine knows it.
	Now func() time.Time
}

// Offer says whether the machine takes new leases. It is safe for use by several goroutines.
type Offer struct {
	o Options

	mu    sync.Mutex
	state State
	// used is what the last look found, looks how many in a row found something, last when one did; looked: there was one.
	used   string
	looks  int
	looked bool
	last   time.Time
	// slow is why a machine that is measured below its class leaves, warned the last period that was said to be below it.
	slow   string
	warned uint64
	// sent is the status that was sent last, at the time at.
	sent market.NodeStatus
	at   time.Time
}

// New checks the options. Run follows clock and use.
func New(o Options) (*Offer, error) {
	if o.Fault == nil || o.Node == nil || o.Set == nil || o.Mark == "" || o.Now == nil || o.SlowLimit != nil && o.Slow == "" {
		return nil, errors.New("offer: Fault, Node, Set, Mark and Now are required, and Slow with SlowLimit")
	}
	if o.Quiet == 0 {
		o.Quiet = DefaultQuiet
	}
	return &Offer{o: o, state: State{Text: "the agent starts"}}, nil
}

// State is what the last look found.
func (f *Offer) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Withholds says why the machine must not bid for an order now; empty if it may. An order that may last beyond the hours is none
// for it.
func (f *Offer) Withholds(o market.Order) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.o.Use != nil && !f.looked {
		return "it is not known yet whether the GPUs are used"
	}
	now := f.o.Now()
	return withholds(f.facts(now).state(), f.o.Hours, now, o.LatestEnd())
}

// Run looks until ctx ends.
func (f *Offer) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		f.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// look sees what is so now, and sends the node's status where it has to change.
func (f *Offer) look(ctx context.Context) {
	f.observe(ctx)
	node, ok := f.o.Node()
	if !ok {
		return
	}
	f.mu.Lock()
	now := f.o.Now()
	if !f.notice(node) {
		f.mu.Unlock()
		return
	}
	facts := f.facts(now)
	facts.node, facts.withdrawn = node, f.o.Mark.Set()
	state, want := decide(facts)
	changed := state.Reason != f.state.Reason || state.Offering != f.state.Offering
	f.state = state
	waits := want == f.sent && now.Sub(f.at) < sendAgain
	f.mu.Unlock()
	if changed {
		f.o.Log.Info().Bool("offering", state.Offering).Str("why", state.Text).Time("until", state.Until).Msg("whether the machine takes new leases has changed")
	}
	switch {
	case want == 0 && node.State() == market.NodeActive && !state.Withdrawn:
		f.warn(f.o.Mark.Clear(), "the note that the node was taken out cannot be removed")
	case want != 0 && !waits:
		f.set(ctx, node, want)
	}
}

// set remembers that the agent takes the node out before it does.
func (f *Offer) set(ctx context.Context, node market.Node, want market.NodeStatus) {
	if want != market.NodeActive {
		if err := f.o.Mark.Put(); err != nil {
			f.warn(err, "the node stays in the market: that the agent took it out cannot be noted")
			return
		}
	}
	err := f.o.Set(ctx, node, want)
	f.mu.Lock()
	f.sent, f.at = want, f.o.Now()
	f.mu.Unlock()
	if ctx.Err() == nil {
		f.warn(err, "the node's status cannot be changed to "+want.String()+"; the agent tries again")
	}
	if err == nil {
		f.o.Log.Info().Stringer("from", node.State()).Stringer("to", want).Msg("node changed its status")
	}
}

func (f *Offer) warn(err error, text string) {
	if err != nil {
		f.o.Log.Warn().Err(market.Explain(err)).Msg(text)
	}
}

// observe looks who uses the GPUs. What cannot be read is as it was.
func (f *Offer) observe(ctx context.Context) {
	if f.o.Use == nil {
		return
	}
	who, err := f.o.Use(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			f.o.Log.Warn().Err(err).Msg("whether the GPUs are used cannot be read")
		}
	} else {
		f.looked, f.used = true, who
		f.looks = min(f.looks+1, usedLooks)
		if who == "" {
			f.looks = 0
		}
	}
	if f.looks >= usedLooks {
		f.last = f.o.Now()
	}
}

// facts are those of the machine. The caller holds mu.
func (f *Offer) facts(now time.Time) facts {
	out := facts{now: now, hours: f.o.Hours, slow: f.slow, fault: f.o.Fault()}
	if f.o.Silent != nil {
		out.silent = f.o.Silent()
	}
	if f.looks >= usedLooks {
		out.used = f.used
	}
	if !f.last.IsZero() {
		out.quiet = f.last.Add(f.o.Quiet)
	}
	return out
}
