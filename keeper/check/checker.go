package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// CheckerOptions of a Checker.
type CheckerOptions struct {
	View     *view.View
	Asker    Asker
	Signer   records.Signer // in the name of the keeper's wallet: records.As
	Domain   records.Domain
	Secs     uint32
	Timing   Timing
	SlotHash func(context.Context) ([32]byte, error) // of a recent final slot
	// Instants says when in a period nodes are measured and evidence is drawn, and by what; false while it is not known, or has
	// not come.
	Instants func(records.Period) (instant.Instant, bool)
	Record   func(context.Context, Finding)
	Now      func() time.Time

	// The other options may be left out.

	// Evidence judges evidence; without it none is asked for. Genesis is the hash of the cluster, for evidence.
	Evidence Judge
	Genesis  [32]byte
	// Key signs statements about TPMs in its own name, which say what key signed them; nil takes Signer.
	Key records.Signer
	// NodeAt reads a node's account and the time of the chain, both of one slot, as this keeper's RPC endpoint shows them. A keeper
	// whose endpoint is behind a node's does not judge what the node says of leases. Without it the view counts as current.
	NodeAt func(ctx context.Context, node solana.PublicKey) (*market.Node, time.Time, error)
	// Steady is what measurements are timed by, and nothing else: it may have any beginning, and does not jump. The default is
	// time.Now, which Now need not be: the chain's time is corrected.
	Steady func() time.Time
	// Measure measures nodes: every free one at every period's instant. Only simulations leave it out.
	Measure Measurer
	// ProveWrongCell brings a wrong byte of a measurement on chain; without it a statement says that the measurement was
	// wrong.
	ProveWrongCell func(ix.WrongCell) error
	// Keep keeps what others can check of a measurement that was wrong, and returns its hash, which the statement names; without
	// it statements name none.
	Keep func(node solana.PublicKey, r *measure.Record, now time.Time) ([32]byte, error)
	// Line measures lines; without it none is. Instants is asked for those of the running window then.
	Line Liner
	// Seeds says by what seed a period's committees are drawn; false while it is not known. Without it all keepers
	// check all nodes.
	Seeds func(records.Period) (committee.Seed, bool)
	// Metrics: the checker calls Observe for each check, Skipped for each check that it drops, and Planned with the
	// number of nodes that this keeper watches in a period, as a member of their committees and in all.
	Observe func(kind records.CheckKind, passed bool, latency time.Duration)
	Skipped func(int)
	Planned func(member, watched int)
	// Turn is called at each tick of Run's loop, for a watchdog.
	Turn func()
	Log  zerolog.Logger
	// Tasks runs the checks; the default is goroutines and the wall clock. A caller that sets another calls Tick in
	// place of Run, and waits for what Tasks has started.
	Tasks schedule.Runner
	// Rand is where jitter and nonces come from; the default is crypto/rand. Only a simulation gives another.
	Rand io.Reader
}

var checkerOptional = []string{
	"Evidence", "Key", "Genesis", "NodeAt", "Steady", "Measure", "ProveWrongCell", "Keep", "Line", "Seeds", "Observe", "Skipped", "Planned", "Turn", "Log", "Tasks", "Rand",
}

// Checker makes the checks that its Planner says are due. One goroutine decides; each check runs in its own.
type Checker struct {
	o CheckerOptions

	mu        sync.Mutex // planner and nodes
	planner   *Planner
	nodes     map[solana.PublicKey]*progress
	round     Round
	instant   *instant.Instant // of the round's period, once it is known
	measured  measured
	restarts  map[solana.PublicKey]records.Period // nodes that lost what they had signed, and when
	started   time.Time                           // this keeper
	lines     lines
	scanAt    time.Time
	slots     chan struct{}
	measuring chan struct{}
	wg        sync.WaitGroup
}

// progress is the checker's state of a node.
type progress struct {
	subject subject

	mu       sync.Mutex
	asking   bool // a liveness check is in flight
	answered bool // has answered once
}

// NewChecker returns a checker that sends no challenge before Run or Tick. Error: options.ErrMissing.
func NewChecker(o CheckerOptions) (*Checker, error) {
	if err := options.Complete("checker", o, checkerOptional...); err != nil {
		return nil, err
	}
	o.Tasks = schedule.Or(o.Tasks)
	if o.Key == nil {
		o.Key = o.Signer
	}
	if o.Steady == nil {
		o.Steady = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return &Checker{
		measured: measured{begun: map[solana.PublicKey]records.Period{}},
		o:        o, nodes: map[solana.PublicKey]*progress{}, restarts: map[solana.PublicKey]records.Period{}, started: o.Now(), planner: NewPlanner(o.Timing, o.Secs),
		slots: make(chan struct{}, o.Timing.slots()), measuring: make(chan struct{}, maxMeasuring),
	}, nil
}

// Run checks until ctx ends, then waits for the checks in flight.
func (c *Checker) Run(ctx context.Context) error {
	defer c.wg.Wait()
	// A node's time begins with the instant, not when it is asked.
	return schedule.Every(ctx, min(c.o.Timing.tick(), measureTick), func() {
		if c.o.Turn != nil {
			c.o.Turn()
		}
		c.Tick(ctx)
	})
}

// subject is a node that can be checked.
type subject struct {
	node  *market.Node // as it was last seen at work
	model *market.Model
	// left is the state in which this keeper first saw it out of work, in the period leftIn; nil while it works.
	left   *market.Node
	leftIn records.Period
}

// leave notes that the node is out of work. It reports whether it has been so only since this period.
func (t *subject) leave(n *market.Node, p records.Period) bool {
	if t.left == nil {
		t.left, t.leftIn = n, p
	}
	return t.leftIn == p
}

// Tick starts the checks that are due.
func (c *Checker) Tick(ctx context.Context) {
	now := c.o.Now()
	period := records.Period(now.Unix() / int64(c.o.Secs))
	into := now.Sub(time.Unix(int64(period)*int64(c.o.Secs), 0))
	c.mu.Lock()
	c.plan(period, now)
	c.measureAll(ctx, now)
	c.checkLine(ctx, now)
	checks, skipped := c.planner.Due(now, cap(c.slots)-len(c.slots))
	tasks := make([]*progress, len(checks))
	for i, q := range checks {
		tasks[i] = c.nodes[q.Node]
	}
	c.mu.Unlock()
	if skipped > 0 {
		c.o.Log.Warn().Int("skipped", skipped).Int("out", len(c.slots)).Msg("keeper leaves checks out: too many are due")
		if c.o.Skipped != nil {
			c.o.Skipped(skipped)
		}
	}
	for i, q := range checks {
		if p := tasks[i]; p != nil {
			c.begin(ctx, q, p, into)
		}
	}
}

// begin starts one check.
func (c *Checker) begin(ctx context.Context, q Check, p *progress, into time.Duration) {
	t, period := p.subject, c.round.Period
	switch q.Kind {
	case records.CheckLiveness:
		c.start(ctx, func(ctx context.Context) { c.liveness(ctx, t.node, p, q) })
	case records.CheckInventory:
		if t.model != nil {
			c.start(ctx, func(ctx context.Context) { c.inventory(ctx, t, period) })
		}
	case records.CheckEvidence:
		if t.model != nil && c.stillFree(t) && c.timeForEvidence(into) {
			c.start(ctx, func(ctx context.Context) { c.evidence(ctx, t, period) })
		}
	}
}

// plan brings the planner up to date with the period and, at intervals, with the market's nodes.
func (c *Checker) plan(period records.Period, now time.Time) {
	r := c.round
	if r.Roster == nil || r.Period != period || !r.Drawn {
		fresh := r.Roster == nil || r.Period != period
		next := Round{Period: period, Self: c.o.Signer.PublicKey(), Secret: r.Secret}
		var weights map[solana.PublicKey]uint64
		c.o.View.Read(func(v *view.Accounts) { weights = v.Weights(int64(period+1) * int64(c.o.Secs)) })
		next.Roster = committee.NewRoster(committee.Seed{}, weights)
		if next.Drawn = next.Roster.Everyone(); !next.Drawn && c.o.Seeds != nil {
			var seed committee.Seed
			if seed, next.Drawn = c.o.Seeds(period); next.Drawn {
				next.Roster = committee.NewRoster(seed, weights)
			}
		}
		if fresh || next.Drawn {
			if _, err := io.ReadFull(c.o.Rand, next.Secret[:]); err != nil {
				c.o.Log.Error().Err(err).Msg("keeper has no randomness: nodes may foresee their checks")
			}
			c.scanAt = time.Time{}
			if fresh {
				c.instant, c.measured.saw = nil, time.Time{}
				c.measured.forget(period)
			}
			c.round = next
			c.scan(now)
			c.planner.Begin(next, now)
			if c.o.Planned != nil {
				c.o.Planned(c.planner.Duties())
			}
		}
	}
	c.scan(now)
	if c.instant == nil {
		if i, ok := c.o.Instants(period); ok {
			c.instant, c.measured.saw = &i, c.o.Steady()
			c.planner.Instant(i, now)
		}
	}
}

// scan gives the planner the nodes that can be asked.
func (c *Checker) scan(now time.Time) {
	if now.Before(c.scanAt) {
		return
	}
	c.scanAt = now.Add(max(c.o.Timing.tick(), c.o.Timing.Every/6))
	var watched []Watched
	c.o.View.Read(func(v *view.Accounts) {
		if me, ok := v.Keepers[c.o.Signer.PublicKey()]; ok && me.State() == market.KeeperExiting {
			return // its statements do not count any more
		}
		watched = make([]Watched, 0, len(v.Nodes))
		for key, n := range v.Nodes {
			p := c.nodes[key]
			if !Checked(n.State()) {
				if p != nil && p.subject.leave(n, c.round.Period) {
					watched = append(watched, Watched{Node: key, Left: true})
				}
				continue
			}
			watched = append(watched, Watched{
				Node: key, Leased: n.LiveLeases > 0 || n.GuaranteedUntil != 0, Lapses: lapses(n, int64(c.round.Period)*int64(c.o.Secs)),
			})
			if p == nil {
				p = &progress{}
				c.nodes[key] = p
			}
			p.subject = subject{node: n, model: v.Models[n.Spec.Model]}
		}
	})
	c.planner.Sync(watched, now)
	if len(c.nodes) > len(watched) {
		for key := range c.nodes {
			if !c.planner.Knows(key) {
				delete(c.nodes, key)
			}
		}
	}
}

// PeerFailure takes another keeper's signed failed check, which may cause a check of this keeper.
func (c *Checker) PeerFailure(by solana.PublicKey, s records.CheckStatement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.planner.PeerFailure(by, s, c.o.Now()) {
		c.o.Log.Debug().Stringer("keeper", by).Stringer("node", s.Node).Stringer("kind", s.Kind).Msg("keeper checks a node that another keeper has seen fail")
	}
}

// start runs a check beside the others, unless too many are in flight.
func (c *Checker) start(ctx context.Context, f func(context.Context)) {
	select {
	case c.slots <- struct{}{}:
	default:
		return // the planner hands out no more than there is room for
	}
	c.wg.Add(1)
	c.o.Tasks.Go(func() {
		defer c.wg.Done()
		defer func() { <-c.slots }()
		f(ctx)
	})
}

// ask sends a challenge and returns the answer with the time that it took.
func (c *Checker) ask(ctx context.Context, n *market.Node, req messages.ChallengeRequest, timeout time.Duration) (messages.ChallengeResponse, time.Duration, error) {
	req.Version, req.Node = messages.Version, n.Address
	if _, err := io.ReadFull(c.o.Rand, req.Nonce[:]); err != nil {
		return messages.ChallengeResponse{}, 0, err
	}
	ctx, cancel := c.o.Tasks.Timeout(ctx, timeout)
	defer cancel()
	began := c.o.Now()
	resp, err := c.o.Asker.Ask(ctx, n.NodeKey, req)
	took := c.o.Now().Sub(began)
	switch {
	case err != nil:
		return resp, took, err
	case resp.Version != messages.Version:
		return resp, took, fmt.Errorf("%w: version %d", ErrWrong, resp.Version)
	case resp.Nonce != req.Nonce:
		return resp, took, fmt.Errorf("%w: the answer to another question", ErrWrong)
	}
	c.answered(n, resp)
	return resp, took, nil
}

// finish hands a finding to the metrics, the planner and the recorder.
func (c *Checker) finish(ctx context.Context, f Finding) {
	if f.Unknown {
		c.o.Record(ctx, f)
		return
	}
	if c.o.Observe != nil {
		c.o.Observe(f.Kind, f.Passed, f.Latency)
	}
	c.mu.Lock()
	c.planner.Result(f.Node, f.Kind, f.Passed, f.At)
	c.mu.Unlock()
	c.o.Record(ctx, f)
}
