package challenge

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/wire"
)

// Subject is what liveness is about: a node, or one of its leases.
type Subject struct {
	Node  solana.PublicKey
	Lease solana.PublicKey // zero for the node itself
}

// Window bounds the seconds for which a subject can be up: from its start (0 for always) to its end (0 for open).
type Window struct{ From, To int64 }

// Cover remembers up to which second each subject's checks speak, so that no second is covered twice.
type Cover struct {
	secs  int64
	marks map[Subject]mark
}

type mark struct {
	until  int64 // covered up to here
	at     int64 // last check
	passed bool
}

// NewCover starts with an empty memory. periodSecs must be positive.
func NewCover(periodSecs uint32) *Cover {
	return &Cover{secs: int64(periodSecs), marks: map[Subject]mark{}}
}

// PeriodAt is the period that contains the second.
func (c *Cover) PeriodAt(now int64) wire.Period { return wire.Period(max(now, 0) / c.secs) }

func (c *Cover) start(p wire.Period) int64 { return int64(p) * c.secs }

// Check notes a check at now and returns its period and how many seconds of it the check speaks for.
func (c *Cover) Check(s Subject, w Window, now int64, passed bool) (wire.Period, uint32) {
	p := c.PeriodAt(now)
	n := c.cover(s, w, c.start(p), now)
	m := c.marks[s]
	m.at, m.passed = now, passed
	c.marks[s] = m
	return p, n
}

// Tail covers the rest of a period that has ended, with the result of the last check: for the time between it and the
// period's end. ok is false when nothing is left or no check was made in the period.
func (c *Cover) Tail(s Subject, w Window, p wire.Period) (secs uint32, passed, ok bool) {
	m, known := c.marks[s]
	if !known || m.at < c.start(p) {
		return 0, false, false
	}
	n := c.cover(s, w, c.start(p), c.start(p+1))
	return n, m.passed, n > 0
}

// cover moves the mark to end and returns the seconds in between that lie in the period and the window.
func (c *Cover) cover(s Subject, w Window, start, end int64) uint32 {
	m := c.marks[s]
	from := max(start, w.From, m.until)
	if w.To != 0 {
		end = min(end, w.To)
	}
	m.until = max(m.until, end)
	c.marks[s] = m
	return uint32(min(max(end-from, 0), math.MaxUint32))
}

// Restore notes a statement of an earlier run.
func (c *Cover) Restore(s wire.CheckStatement) {
	if s.Kind != wire.CheckLiveness {
		return
	}
	sub := Subject{s.Node, s.Lease}
	if m := c.marks[sub]; s.CheckedAt >= m.at {
		c.marks[sub] = mark{until: max(m.until, s.CheckedAt), at: s.CheckedAt, passed: s.Passed}
	}
}

// Subjects lists what is remembered, in one order.
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
