package alert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// queueSize bounds how many notices wait for a target.
	queueSize = 64
	// maxKnown bounds how many events are kept as sent.
	maxKnown = 2000
	// keepKnown is how long an event is kept as sent.
	keepKnown = 90 * 24 * time.Hour
)

// eventGroup is the group of what happened once.
const eventGroup = "event"

// state is what a Sender keeps in the daemon's store.
type state struct {
	// Known is what a person was told, by group and key.
	Known map[string]known `json:"known"`
	Queue []*queued        `json:"queue,omitempty"`
	// Sent is when notices of the last hour were sent, by target.
	Sent map[string][]time.Time `json:"sent,omitempty"`
}

// known is a condition that lasts, or an event.
type known struct {
	Since time.Time `json:"since"`
	// Gone is when the condition was first seen to be over; zero while it lasts.
	Gone time.Time `json:"gone,omitzero"`
	Told bool      `json:"told"`
}

// queued is a notice with the targets that did not get it yet.
type queued struct {
	Notice Notice    `json:"notice"`
	ID     string    `json:"id"` // group and key
	At     time.Time `json:"at"`
	Left   []string  `json:"left"`
	// Some target has it.
	Partly bool `json:"partly,omitempty"`
	// tries are the failed deliveries by target, next when each tries again.
	tries map[string]int
	next  map[string]time.Time
}

// decode reads what was kept. What no target waits for is left out.
func decode(raw []byte, targets []Target) (state, error) {
	s := state{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &s); err != nil {
			return state{Known: map[string]known{}, Sent: map[string][]time.Time{}}, fmt.Errorf("notices that were sent: %w", err)
		}
	}
	if s.Known == nil {
		s.Known = map[string]known{}
	}
	if s.Sent == nil {
		s.Sent = map[string][]time.Time{}
	}
	has := func(id string) bool { return slices.ContainsFunc(targets, func(t Target) bool { return t.ID == id }) }
	maps.DeleteFunc(s.Sent, func(id string, _ []time.Time) bool { return !has(id) })
	// How long a condition lasted that nobody was told about is not known after a pause.
	maps.DeleteFunc(s.Known, func(_ string, k known) bool { return !k.Told })
	s.Queue = slices.DeleteFunc(s.Queue, func(q *queued) bool {
		if q == nil {
			return true
		}
		q.Left = slices.DeleteFunc(q.Left, func(id string) bool { return !has(id) })
		return len(q.Left) == 0
	})
	return s, nil
}

// add queues a notice, and returns for how many targets. A target for which too many wait is left out: one that is dead
// must not fill the queue of the others.
func (s *state) add(id string, n Notice, targets []Target, now time.Time) int {
	waiting := map[string]int{}
	for _, q := range s.Queue {
		for _, target := range q.Left {
			waiting[target]++
		}
	}
	q := &queued{Notice: n, ID: id, At: now}
	for _, t := range targets {
		if waiting[t.ID] < queueSize {
			q.Left = append(q.Left, t.ID)
		}
	}
	if len(q.Left) > 0 {
		s.Queue = append(s.Queue, q)
	}
	return len(q.Left)
}

// over forgets a condition that ended before a person was told, and reports whether it did.
func (s *state) over(id string) bool {
	waits := false
	s.Queue = slices.DeleteFunc(s.Queue, func(q *queued) bool {
		mine := q.ID == id && !q.Partly
		waits = waits || mine
		return mine
	})
	if waits || !s.Known[id].Told {
		delete(s.Known, id)
		return true
	}
	return false
}

// prune forgets old events.
func (s *state) prune(now time.Time) {
	events := map[string]time.Time{}
	for id, k := range s.Known {
		if strings.HasPrefix(id, eventGroup+"/") {
			events[id] = k.Since
		}
	}
	ids := slices.SortedFunc(maps.Keys(events), func(a, b string) int { return events[b].Compare(events[a]) })
	for i, id := range ids {
		if i >= maxKnown || now.Sub(events[id]) > keepKnown {
			delete(s.Known, id)
		}
	}
}

// due is the next notice for a target; nil if there is none, and then how long to wait.
func (s *state) due(target string, perHour int, now time.Time) (best *queued, wait time.Duration) {
	sent := slices.DeleteFunc(s.Sent[target], func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if s.Sent[target] = sent; len(sent) >= perHour {
		return nil, time.Hour - now.Sub(sent[0])
	}
	wait = time.Hour
	for _, q := range s.Queue {
		if !slices.Contains(q.Left, target) {
			continue
		}
		if left := q.next[target].Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		if best == nil || q.Notice.Severity.rank() > best.Notice.Severity.rank() {
			best = q
		}
	}
	return best, wait
}

// done takes a target off a notice, and the notice out of the queue after its last target.
func (s *state) done(q *queued, target string) {
	q.Left = slices.DeleteFunc(q.Left, func(id string) bool { return id == target })
	if len(q.Left) == 0 {
		s.Queue = slices.DeleteFunc(s.Queue, func(x *queued) bool { return x == q })
	}
}
