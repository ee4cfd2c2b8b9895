package check

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// Subject is what a liveness check is about: a node, or one of its leases.
type Subject struct {
	Node  solana.PublicKey
	Lease solana.PublicKey // zero for the node itself
}

// Window bounds the seconds for which a subject can be up: from its start (0 for always) to its end (0 for open).
type Window struct{ From, To int64 }

// Span is the content of one statement about liveness: up or down for so many seconds of a period, as seen up to At.
type Span struct {
	Period  records.Period
	At      int64
	Seconds uint32
	Passed  bool
	Latency time.Duration // of the last answer
}

// Cover remembers up to which second the statements about each subject reach, so that no second is covered twice. It
// merges equal results: a run of passed checks becomes one statement at its end, so that a node that is up all the time
// costs one statement a period, however often it is asked. The first failed check of a run is stated at once, since the
// other keepers react to it.
//
// A check speaks for the seconds that it reaches: those since the check before, and no more than the interval at which
// the node is asked. What no check reaches is not known, and in no statement.
type Cover struct {
	secs  int64
	doubt int64
	marks map[Subject]mark
}

type mark struct {
	until   int64 // covered up to here
	at      int64 // last check
	passed  bool
	unsure  bool // what came after the last check is not known
	reach   int64
	latency time.Duration

	held    uint32 // seconds of the run that no statement covers yet
	holding bool   // whether there are such checks
	period  records.Period
}

// NewCover returns an empty Cover. periodSecs must be positive. doubt is how many seconds before a first failed check
// count as down. Nobody has seen the time before that fail: it counts as up if the check before passed, and otherwise
// not at all.
func NewCover(periodSecs uint32, doubt int64) *Cover {
	return &Cover{secs: int64(periodSecs), doubt: max(doubt, 1), marks: map[Subject]mark{}}
}

// PeriodAt returns the period that contains the second.
func (c *Cover) PeriodAt(now int64) records.Period { return records.Period(max(now, 0) / c.secs) }

func (c *Cover) start(p records.Period) int64 { return int64(p) * c.secs }

// mark is what is remembered of a subject. The address of a lease can be used again. A lease that began after the last check is another
// one: what is held of the former is dropped, for a report could not tell them apart.
func (c *Cover) mark(s Subject, w Window) mark {
	m := c.marks[s]
	if !s.Lease.IsZero() && m.at < w.From {
		return mark{until: m.until}
	}
	return m
}

// Check records a check at now, which reaches so many seconds back, and returns the spans to state at once.
func (c *Cover) Check(s Subject, w Window, now int64, passed bool, latency time.Duration, reach int64) []Span {
	p := c.PeriodAt(now)
	m := c.mark(s, w)
	if m.period != p { // what was held of an earlier period was left to Flush and Tail
		m.held, m.holding, m.period = 0, false, p
	}
	first := m.at == 0 || m.passed
	var out []Span
	reach = max(reach, c.doubt)
	if from := now - reach; max(c.start(p), w.From, m.until) < from { // a gap: a statement speaks for what is together
		if m.holding {
			out = m.flush(out, m.at)
		}
		m.until, m.unsure = from, true
	}
	switch {
	case passed:
		if m.holding && !m.passed {
			out = m.flush(out, m.at)
		}
		m.held += c.cover(&m, w, c.start(p), now)
		m.holding = true
	case first:
		split := min(now, max(now-c.doubt, m.at))
		before := c.cover(&m, w, c.start(p), split)
		if m.passed && m.at > 0 && !m.unsure {
			m.held += before
			if before > 0 {
				m.at, m.holding = split, true
			}
		}
		if m.holding {
			out = m.flush(out, m.at)
		}
		out = append(out, Span{Period: p, At: now, Seconds: c.cover(&m, w, c.start(p), now), Latency: latency})
	default:
		m.held += c.cover(&m, w, c.start(p), now)
		m.holding = true
	}
	m.at, m.passed, m.latency, m.reach, m.unsure = max(m.at, now), passed, latency, reach, false
	c.marks[s] = m
	return out
}

// Unknown records a check at now that says nothing. It returns what was held until the check before; ok is false when
// that is nothing.
func (c *Cover) Unknown(s Subject, w Window, now int64) (out Span, ok bool) {
	m := c.mark(s, w)
	if m.holding && m.period == c.PeriodAt(now) {
		out, ok = m.flush(nil, m.at)[0], true
	}
	m.until, m.unsure = max(m.until, now), true
	c.marks[s] = m
	return out, ok
}

// flush turns what is held into a span.
func (m *mark) flush(out []Span, at int64) []Span {
	out = append(out, Span{Period: m.period, At: at, Seconds: m.held, Passed: m.passed, Latency: m.latency})
	m.held, m.holding = 0, false
	return out
}

// Flush returns what is held of a subject that is not checked any more; ok is false when there is nothing.
func (c *Cover) Flush(s Subject, p records.Period) (Span, bool) {
	m, known := c.marks[s]
	if !known || !m.holding || m.period != p {
		return Span{}, false
	}
	out := m.flush(nil, m.at)
	c.marks[s] = m
	return out[0], true
}

// Tail returns what is held at the end of a period, with the time between the last check and the end, which counts as
// the last check did as far as that reaches. ok is false when nothing is left or no check was made in the period.
func (c *Cover) Tail(s Subject, w Window, p records.Period) (Span, bool) {
	m := c.mark(s, w)
	if m.at == 0 || m.at < c.start(p) || m.period != p {
		return Span{}, false
	}
	end := m.at
	if !m.unsure {
		end = min(c.start(p+1), m.at+m.reach)
	}
	n := c.cover(&m, w, c.start(p), end)
	m.held += n
	if n == 0 && !m.holding {
		return Span{}, false
	}
	out := m.flush(nil, end)
	out[0].Latency = 0
	c.marks[s] = m
	return out[0], true
}

// cover moves the mark to end and returns the seconds in between that lie in the period and the window.
func (c *Cover) cover(m *mark, w Window, start, end int64) uint32 {
	from := max(start, w.From, m.until)
	if w.To != 0 {
		end = min(end, w.To)
	}
	m.until = max(m.until, end)
	return uint32(min(max(end-from, 0), math.MaxUint32))
}

// Restore takes a statement of an earlier run of the process. What that run held is lost: the next check covers that
// time if it passes, and no more than the doubt if it fails.
func (c *Cover) Restore(s records.CheckStatement) {
	if s.Kind != records.CheckLiveness {
		return
	}
	sub := Subject{s.Node, s.Lease}
	if m := c.marks[sub]; s.CheckedAt >= m.at {
		c.marks[sub] = mark{until: max(m.until, s.CheckedAt), at: s.CheckedAt, passed: s.Passed, period: s.Period}
	}
}

// Subjects lists the subjects, sorted.
func (c *Cover) Subjects() []Subject {
	out := make([]Subject, 0, len(c.marks))
	for s := range c.marks {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Subject) int {
		return cmp.Or(bytes.Compare(a.Node[:], b.Node[:]), bytes.Compare(a.Lease[:], b.Lease[:]))
	})
	return out
}

// Forget drops subjects that were last checked before a second.
func (c *Cover) Forget(before int64) {
	for s, m := range c.marks {
		if m.at < before {
			delete(c.marks, s)
		}
	}
}
