package idle

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// leadTime is how long before a possible instant the job must have ended. tailShare bounds the time after it in which keepers may
	// begin to measure. In short periods both are shares of the period.
	leadTime, leadShare = 15 * time.Second, 10
	tailShare           = 60
	tailLeast           = 20 * time.Second
	tailMost            = 4
	// graceShare is the part of the lead between SIGTERM and SIGKILL.
	graceShare = 3
	// askEvery is how often the chain is asked whether a moment was the instant.
	askEvery = time.Second
)

// Instants looks for the instant of a period at some of its ticks: the tick, instant.Ticks for none of them, and the first one whose
// block is not there yet.
type Instants func(ctx context.Context, p records.Period, from, to int) (at, next int, err error)

// moments are those at which keepers may measure the machine.
type moments struct {
	secs   uint32
	period records.Period
	// next is the first tick of the period that is not over and may be the instant; instant.Ticks when none is left.
	next int
	// due: the tick before next is the instant, and the machine was not measured yet.
	due bool
	at  int
	// asked is when the chain was asked last.
	asked time.Time
}

// lead is how long before a possible instant the job must have ended.
func (m *moments) lead() time.Duration { return min(leadTime, m.part(leadShare)) }

// tail is how long after a moment keepers may begin. They do so within half of it.
func (m *moments) tail() time.Duration {
	return min(max(m.part(tailShare), tailLeast), m.part(tailMost))
}

func (m *moments) part(of int) time.Duration {
	return time.Duration(m.secs) * time.Second / time.Duration(of)
}

// grace is how long the job may take to end before a moment.
func (m *moments) grace() time.Duration { return m.lead() / graceShare }

// window is the current or the next time in which the job must not run.
func (m *moments) window(now time.Time, secs uint32) (from, until time.Time) {
	p := records.Period(max(now.Unix(), 0)) / records.Period(secs)
	if m.secs != secs || m.period != p {
		*m = moments{secs: secs, period: p}
	}
	if m.due {
		at := instant.Tick(p, m.at, secs)
		if until = at.Add(m.tail()); now.Before(until) {
			return at.Add(-m.lead()), until
		}
		m.due = false
	}
	for ; m.next < instant.Ticks; m.next++ {
		at := instant.Tick(p, m.next, secs)
		if until = at.Add(m.tail()); now.Before(until) {
			return at.Add(-m.lead()), until
		}
	}
	at := instant.Tick(p+1, 0, secs)
	return at.Add(-m.lead()), at.Add(m.tail())
}

// look asks the chain whether what has passed of the period has its instant. Nothing is asked while no tick has passed that is not known.
func (m *moments) look(ctx context.Context, now time.Time, find Instants) error {
	if m.due || m.next >= instant.Ticks || now.Sub(m.asked).Abs() < min(askEvery, m.part(tailShare)) {
		return nil
	}
	to := m.next - 1
	for k := m.next; k < instant.Ticks && !now.Before(instant.Tick(m.period, k, m.secs)); k++ {
		to = k
	}
	if to < m.next {
		return nil
	}
	m.asked = now
	at, next, err := find(ctx, m.period, m.next, to)
	if at < instant.Ticks {
		m.at, m.next, m.due = at, instant.Ticks, true
		return nil
	}
	m.next = max(m.next, next)
	return err
}

// measured notes that the machine was measured.
func (m *moments) measured() {
	m.due = false
}
