package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
)

// Defaults of a Sender.
const (
	// DefaultPerHour is the most notices that a target gets in an hour.
	DefaultPerHour = 20
	defaultRetry   = 5 * time.Second
	// maxRetry bounds the time between two attempts, keepTrying the time for which a notice is tried.
	maxRetry   = 10 * time.Minute
	keepTrying = 24 * time.Hour
	// flushWithin bounds Flush, which looks so often.
	flushWithin, flushEvery = time.Minute, 20 * time.Millisecond
	// calm is how long a condition must be over before it counts as a new one.
	calm = 10 * time.Minute
)

// Memory keeps what was sent over a restart.
type Memory interface {
	// Load returns what Save wrote last; nothing if it wrote nothing.
	Load() ([]byte, error)
	Save([]byte) error
}

// Options of New. All but PerHour, Retry and Now are required.
type Options struct {
	Targets []Target
	Memory  Memory
	// Source names the daemon and the machine.
	Source string
	// PerHour is the most notices that a target gets in an hour; 0 for DefaultPerHour.
	PerHour int
	// Retry is the pause after a first failure; each further failure doubles it.
	Retry time.Duration
	Log   zerolog.Logger
	Now   func() time.Time
}

// Counts are what became of notices since the start, one for each target.
type Counts struct{ Sent, Failed, Dropped uint64 }

// Sender sends notices. It is safe for use by several goroutines.
type Sender struct {
	o    Options
	wake map[string]chan struct{} // by target

	mu    sync.Mutex
	state state
	// failing are the targets whose last delivery failed; full and unkept say that a problem was logged.
	failing      map[string]bool
	full, unkept bool

	sent, failed, dropped atomic.Uint64
}

// New reads what was sent before. Run sends.
func New(o Options) (*Sender, error) {
	if err := options.Complete("alert", o, "PerHour", "Retry", "Log", "Now"); err != nil {
		return nil, err
	}
	if o.PerHour <= 0 {
		o.PerHour = DefaultPerHour
	}
	if o.Retry <= 0 {
		o.Retry = defaultRetry
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	raw, err := o.Memory.Load()
	if err != nil {
		return nil, fmt.Errorf("notices that were sent: %w", err)
	}
	s := &Sender{o: o, wake: map[string]chan struct{}{}, failing: map[string]bool{}}
	for _, t := range o.Targets {
		s.wake[t.ID] = make(chan struct{}, 1)
	}
	if s.state, err = decode(raw, o.Targets); err != nil {
		// Another version may have written it. Notices must not keep a daemon from its work.
		o.Log.Warn().Err(err).Msg("which notices were sent cannot be read; what lasts is sent again")
	}
	return s, nil
}

// Counts says what became of notices since the start.
func (s *Sender) Counts() Counts {
	return Counts{Sent: s.sent.Load(), Failed: s.failed.Load(), Dropped: s.dropped.Load()}
}

// Standing sets all conditions of a group that last now. A new one is sent once. One that was over for ten minutes is
// sent again when it comes back.
func (s *Sender) Standing(group string, all []Notice) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := false
	here := map[string]bool{}
	for _, n := range all {
		id := group + "/" + n.Key
		if here[id] {
			continue
		}
		here[id] = true
		k, ok := s.state.Known[id]
		if !ok {
			k.Since = now
		}
		changed = changed || !k.Gone.IsZero()
		k.Gone = time.Time{}
		if !k.Told && now.Sub(k.Since) >= n.After {
			k.Told = s.queue(id, n, now)
			changed = changed || k.Told
		}
		s.state.Known[id] = k
	}
	for id, k := range s.state.Known {
		switch {
		case !strings.HasPrefix(id, group+"/") || here[id]:
		case s.state.over(id):
			changed = true
		case k.Gone.IsZero():
			k.Gone = now
			s.state.Known[id], changed = k, true
		case now.Sub(k.Gone) >= calm:
			delete(s.state.Known, id)
			changed = true
		}
	}
	if changed {
		s.save()
	}
}

// Event sends a notice about what happened once. The same key is never sent again.
func (s *Sender) Event(n Notice) {
	now := s.o.Now()
	id := eventGroup + "/" + n.Key
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.state.Known[id]; ok {
		return
	}
	s.state.Known[id] = known{Since: now, Told: true}
	if !s.queue(id, n, now) { // a condition that lasts is tried again, this is not
		s.dropped.Add(uint64(len(s.o.Targets)))
	}
	s.state.prune(now)
	s.save()
}

// queue adds a notice; false if the queues of all targets are full. The caller holds mu.
func (s *Sender) queue(id string, n Notice, now time.Time) bool {
	takes := s.state.add(id, n.clean(s.o.Source, now), s.o.Targets, now)
	full := takes < len(s.o.Targets)
	if full && !s.full {
		s.o.Log.Warn().Int("waiting", queueSize).Msg("too many notices wait for a target; further ones are dropped")
	}
	if s.full = full; takes == 0 {
		return false
	}
	s.dropped.Add(uint64(len(s.o.Targets) - takes))
	for _, c := range s.wake {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return true
}

// save writes what was sent. The caller holds mu.
func (s *Sender) save() {
	raw, err := json.Marshal(s.state)
	if err == nil {
		err = s.o.Memory.Save(raw)
	}
	if err != nil && !s.unkept {
		s.o.Log.Warn().Err(err).Msg("notices that were sent cannot be noted; after a restart they are sent again")
	}
	s.unkept = err != nil
}

// Run sends what is queued until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range s.o.Targets {
		g.Go(func() error { return s.serve(ctx, t) })
	}
	return g.Wait()
}

// Flush sends what is queued, for as long as ctx lasts. Run must have ended.
func (s *Sender) Flush(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx) // its only error is the context's
	}()
	_ = wait.Again(ctx, flushWithin, flushEvery, s.waiting)
	cancel()
	<-done
}

func (s *Sender) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.Queue) > 0
}

// serve sends to one target, so that a target that hangs delays no other.
func (s *Sender) serve(ctx context.Context, t Target) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s.mu.Lock()
		q, pause := s.state.due(t.ID, s.o.PerHour, s.o.Now())
		var n Notice
		if q != nil {
			n = q.Notice
		}
		s.mu.Unlock()
		if q != nil {
			err := t.deliver(ctx, n)
			if ctx.Err() != nil && err != nil {
				return ctx.Err()
			}
			s.delivered(q, t, err)
			continue
		}
		timer.Reset(max(pause, time.Millisecond))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake[t.ID]:
		case <-timer.C:
		}
	}
}

// delivered notes what came of a delivery.
func (s *Sender) delivered(q *queued, t Target, err error) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.failing[t.ID]
	s.failing[t.ID] = err != nil
	if err == nil {
		s.sent.Add(1)
		q.Partly = true
		s.state.Sent[t.ID] = append(s.state.Sent[t.ID], now)
		s.state.done(q, t.ID)
		s.save()
		if was {
			s.o.Log.Info().Str("target", t.Name).Msg("notices are delivered again")
		}
		return
	}
	s.failed.Add(1)
	if !was {
		s.o.Log.Warn().Str("error", printable.Text(err.Error())).Str("target", t.Name).Msg("a notice cannot be delivered; the daemon tries again")
	}
	if now.Sub(q.At) >= keepTrying {
		s.dropped.Add(1)
		s.state.done(q, t.ID)
		s.save()
		s.o.Log.Warn().Str("target", t.Name).Str("subject", q.Notice.Subject).Msg("a notice was not delivered in 24 hours and is dropped")
		return
	}
	if q.tries == nil {
		q.tries, q.next = map[string]int{}, map[string]time.Time{}
	}
	pause := min(s.o.Retry<<min(q.tries[t.ID], 16), maxRetry)
	q.tries[t.ID]++
	q.next[t.ID] = now.Add(pause)
}
