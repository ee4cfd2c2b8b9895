package outage

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Timing is how often nodes are asked.
type Timing struct {
	Every   time.Duration // a node that answers
	Retry   time.Duration // a node that has not answered
	Timeout time.Duration // of an answer, and of a new connection
}

// DefaultTiming lets a vote follow a node's last answer by little more than silenceSecs.
func DefaultTiming() Timing {
	return Timing{Every: 2 * time.Second, Retry: 500 * time.Millisecond, Timeout: 2 * time.Second}
}

const (
	// silenceSecs is for how long a node has not answered when this keeper votes. The program's market.OutageSecs is less: an
	// agent that was killed needs some seconds until it is found again (docs/adr/0020-outages.md).
	silenceSecs = 8
	// perSecond bounds the questions of a keeper: beyond it each node is asked less often, and a vote comes later.
	perSecond = 2000
	// maxAsking bounds the nodes that are asked at the same time.
	maxAsking = 512
	// tries without an answer are needed, however long the silence was. All but the first are over new connections.
	tries = 2
	// witnesses is how many other nodes are asked whether it is this keeper that is away.
	witnesses = 16
	// remembered is for how long a node that has answered should do so again, to be a witness.
	remembered = 10 * time.Minute
	// heardFor is for how long what the witnesses said counts.
	heardFor = 5 * time.Second
	// fresh is for how long what was found of a node counts, unless it is found again.
	fresh = 10 * time.Second
)

// Options of a Watch. Log and Tasks may be left out.
type Options struct {
	View   *view.View
	Asker  check.Asker // is a check.Renewer where there are connections
	Self   solana.PublicKey
	Timing Timing
	Now    func() time.Time
	Log    zerolog.Logger
	// Tasks asks; the default is goroutines and the wall clock. A caller that gives another calls Tick in place of Run.
	Tasks schedule.Runner
}

// Watch asks nodes with leases that may move, and knows which are away. Run owns all its goroutines.
type Watch struct {
	o     Options
	slots chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	nodes map[solana.PublicKey]*subject
	// heard has every node's last answer to this keeper, also those that Watch does not ask.
	heard map[solana.PublicKey]answer
	// notices of restarts are remembered for restartEvery: one of each registered node at most.
	notices map[solana.PublicKey]notice
}

// answer is a node's last.
type answer struct {
	at time.Time
	// gone: it was found to be away since then, and is no witness.
	gone bool
}

// subject is a node with leases that may move.
type subject struct {
	node   *market.Node
	since  time.Time // when Watch began to ask it: nothing before is known
	next   time.Time
	asking bool
	silent int // questions in a row that the node has not answered
	// foundAt is when it was last found to be away; zero when it is not.
	foundAt time.Time
	// connected is what the other nodes last said of this keeper's own network, and when.
	connected   bool
	connectedAt time.Time
}

// New returns a Watch that asks nothing before Run or Tick. Error: options.ErrMissing.
func New(o Options) (*Watch, error) {
	if err := options.Complete("outage watch", o, "Log", "Tasks"); err != nil {
		return nil, err
	}
	o.Tasks = schedule.Or(o.Tasks)
	return &Watch{
		o: o, slots: make(chan struct{}, maxAsking), nodes: map[solana.PublicKey]*subject{}, heard: map[solana.PublicKey]answer{},
		notices: map[solana.PublicKey]notice{},
	}, nil
}

// Run asks until ctx ends, then waits for the questions on their way.
func (w *Watch) Run(ctx context.Context) error {
	defer w.wg.Wait()
	return schedule.Every(ctx, max(w.o.Timing.Retry/2, 10*time.Millisecond), func() { w.Tick(ctx) })
}

// Heard takes the finding of another check of this keeper: an answer is one whoever asked.
func (w *Watch) Heard(f check.Finding) {
	if !f.Passed {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered(f.Node, f.At)
}

// answered notes an answer. The caller holds mu.
func (w *Watch) answered(node solana.PublicKey, at time.Time) {
	before := w.heard[node].at
	if at.After(before) {
		w.heard[node] = answer{at: at}
	}
	if s := w.nodes[node]; s != nil {
		if s.silent > 0 {
			w.o.Log.Info().Stringer("node", node).Bool("away", !s.foundAt.IsZero()).Dur("silent_ms", at.Sub(before)).Msg("a node that did not answer answers again")
		}
		s.silent, s.foundAt = 0, time.Time{}
	}
}

// Tick asks the nodes whose turn has come.
func (w *Watch) Tick(ctx context.Context) {
	now := w.o.Now()
	watched := map[solana.PublicKey]*market.Node{}
	w.o.View.Read(func(v *view.Accounts) {
		if me, ok := v.Keepers[w.o.Self]; !ok || me.State() != market.KeeperActive {
			return // it has no vote
		}
		for _, l := range v.Leases {
			if n := v.Nodes[l.Node]; n != nil && movable(l) {
				watched[l.Node] = n
			}
		}
	})
	for _, q := range w.due(watched, now) {
		w.wg.Add(1)
		w.o.Tasks.Go(func() {
			defer w.wg.Done()
			defer func() { <-w.slots }()
			w.ask(ctx, q)
		})
	}
}

// question is one to a node; again, when it has not answered the one before.
type question struct {
	node    *market.Node
	again   bool
	timeout time.Duration // of the answer, and of a new connection
}

// due takes a place for each question that is due now, as long as there are any. The rest have their turn when some of
// these are answered.
func (w *Watch) due(watched map[solana.PublicKey]*market.Node, now time.Time) (out []question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follow(watched, now)
	pause := max(w.o.Timing.Every, time.Duration(len(w.nodes))*time.Second/perSecond)
	for _, s := range w.nodes {
		if s.asking || now.Before(s.next) {
			continue
		}
		select {
		case w.slots <- struct{}{}:
		default:
			return out
		}
		s.asking, s.next = true, now.Add(pause)
		out = append(out, question{s.node, s.silent > 0, w.timeout(s, now)})
	}
	return out
}

// timeout has the question that decides about a vote end when the node was silent for long enough, not later. The caller
// holds mu.
func (w *Watch) timeout(s *subject, now time.Time) time.Duration {
	left := silenceSecs*time.Second - now.Sub(w.last(s.node.Address, s))
	if s.silent >= tries-1 && left >= w.o.Timing.Timeout/4 {
		return min(left, w.o.Timing.Timeout)
	}
	return w.o.Timing.Timeout
}

// movable reports whether a lease may leave its node when that is away.
func movable(l *market.Lease) bool { return l.State() == market.LeaseRunning && l.MayMigrate == 1 }

// follow brings the subjects up to date, and forgets answers that are too old for anything. The caller holds mu.
func (w *Watch) follow(watched map[solana.PublicKey]*market.Node, now time.Time) {
	for key, n := range watched {
		s := w.nodes[key]
		if s == nil {
			s = &subject{since: now, next: now.Add(mathrand.N(w.o.Timing.Every + 1))}
			w.nodes[key] = s
		}
		s.node = n
	}
	for key := range w.nodes {
		if watched[key] == nil {
			delete(w.nodes, key)
		}
	}
	for key, last := range w.heard {
		if w.nodes[key] == nil && now.Sub(last.at) > remembered {
			delete(w.heard, key)
		}
	}
	for key, last := range w.notices {
		if now.Sub(last.at) >= restartEvery {
			delete(w.notices, key)
		}
	}
}

// ask asks one node, and decides whether it is away.
func (w *Watch) ask(ctx context.Context, q question) {
	key := q.node.Address
	err := w.liveness(ctx, q)
	if ctx.Err() != nil {
		return
	}
	now := w.o.Now()
	w.mu.Lock()
	s := w.nodes[key]
	if s == nil {
		w.mu.Unlock()
		return
	}
	s.asking = false
	switch {
	case present(err):
		w.answered(key, now)
		w.mu.Unlock()
		return
	case errors.Is(err, check.ErrTransport): // there is a connection: it may be the node, or a peer that hinders it
		s.silent, s.foundAt = 0, time.Time{}
	default:
		s.silent++
	}
	s.next = now.Add(w.o.Timing.Retry)
	suspect := s.silent >= tries && now.Sub(w.last(key, s)) >= silenceSecs*time.Second
	connected := s.connected && now.Sub(s.connectedAt) < heardFor
	s.asking = suspect && !connected
	w.mu.Unlock()
	if !suspect {
		return
	}
	if !connected {
		connected = w.connected(ctx, key)
	}
	w.found(key, connected)
}

// found notes what the last try and the witnesses came to, unless the node has answered meanwhile.
func (w *Watch) found(key solana.PublicKey, connected bool) {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.nodes[key]
	if s == nil {
		return
	}
	s.asking = false
	if connected != s.connected || s.connectedAt.IsZero() || now.Sub(s.connectedAt) >= heardFor {
		s.connected, s.connectedAt = connected, now
	}
	switch {
	case s.silent < tries:
	case !connected:
		w.o.Log.Warn().Stringer("node", key).Msg("a node does not answer, nor do most others: this keeper's network may be away, so it does not vote")
		s.foundAt = time.Time{}
	default:
		if s.foundAt.IsZero() {
			w.o.Log.Info().Stringer("node", key).Time("last_answer", w.last(key, s)).Msg("a node with leases is away")
		}
		s.foundAt = now
		if last, ok := w.heard[key]; ok {
			w.heard[key] = answer{last.at, true}
		}
	}
}

// last is the node's last answer; what was before Watch began counts as one. The caller holds mu.
func (w *Watch) last(key solana.PublicKey, s *subject) time.Time {
	if at := w.heard[key].at; at.After(s.since) {
		return at
	}
	return s.since
}

// present reports whether an outcome shows that the node is there. Whoever refuses, or answers something else, is.
func present(err error) bool {
	return err == nil || errors.Is(err, check.ErrRefused) || errors.Is(err, check.ErrWrong)
}

// liveness asks for it; again, over a new connection.
func (w *Watch) liveness(ctx context.Context, q question) error {
	n := q.node
	if r, ok := w.o.Asker.(check.Renewer); ok && q.again {
		rctx, cancel := w.o.Tasks.Timeout(ctx, q.timeout)
		err := r.Renew(rctx, n.NodeKey)
		cancel()
		if err != nil {
			return errors.Join(check.ErrUnreachable, err)
		}
	}
	req := messages.ChallengeRequest{Version: messages.Version, Node: n.Address, Kind: messages.CheckLiveness}
	if _, err := rand.Read(req.Nonce[:]); err != nil {
		return errors.Join(check.ErrTransport, err) // of this keeper's doing: it says nothing
	}
	ctx, cancel := w.o.Tasks.Timeout(ctx, q.timeout)
	defer cancel()
	_, err := w.o.Asker.Ask(ctx, n.NodeKey, req) // whatever is in the answer: the channel says whose it is
	return err
}

// connected asks some of the other nodes that have answered a short time ago. It reports whether more than half of them
// still do; false when there is none.
func (w *Watch) connected(ctx context.Context, except solana.PublicKey) bool {
	now := w.o.Now()
	var recent []solana.PublicKey
	w.mu.Lock()
	for key, last := range w.heard {
		if key != except && !last.gone && now.Sub(last.at) <= remembered {
			recent = append(recent, key)
		}
	}
	w.mu.Unlock()
	mathrand.Shuffle(len(recent), func(i, j int) { recent[i], recent[j] = recent[j], recent[i] })
	var asked []*market.Node
	w.o.View.Read(func(v *view.Accounts) {
		for _, key := range recent {
			if n := v.Nodes[key]; n != nil && check.Checked(n.State()) && len(asked) < witnesses {
				asked = append(asked, n)
			}
		}
	})
	answers := make([]bool, len(asked))
	questions := make([]func(), len(asked))
	for i, n := range asked {
		questions[i] = func() { answers[i] = present(w.liveness(ctx, question{node: n, timeout: w.o.Timing.Timeout})) }
	}
	w.o.Tasks.All(questions...)
	there := 0
	now = w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, n := range asked {
		if answers[i] {
			there++
			w.answered(n.Address, now)
		}
	}
	return 2*there > len(asked)
}
