package group

import (
	"cmp"
	"math"
	"slices"

	"github.com/gantry-market/gantry/sdk/market"
)

// Muster is how many machines of a group run.
type Muster struct {
	Running int
	// Done are those whose job or time is over: they are not missed.
	Done int
	// Short: fewer run, or have done their work, than have to.
	Short bool
	// Since is when that began, unix seconds; 0 where it is not short, or where no lease says when it was awarded.
	Since int64
	// Live: one runs, starts, or may be replaced.
	Live bool
}

// Enough reports whether nothing of the group has to be ended.
func (m *Muster) Enough() bool { return !m.Short || !m.Live }

// live reports whether a lease costs something yet, or another machine may take it over.
func live(l *market.Lease) bool { return l.State() <= market.LeaseRunning || l.CanMigrate() }

// Count counts the leases of a group, also those that are over: least of its machines have to run.
func Count(least int, leases []market.Lease) Muster {
	type change struct {
		at int64
		by int
	}
	var changes []change
	m := Muster{Since: math.MaxInt64} // the first award, of machines of which enough never ran
	for i := range leases {
		l := &leases[i]
		m.Live = m.Live || live(l)
		if l.AwardedAt != 0 { // a lease that is closed does not say it
			m.Since = min(m.Since, l.AwardedAt)
		}
		if l.StartedAt == 0 {
			continue
		}
		changes = append(changes, change{l.StartedAt, 1})
		reason := l.Reason()
		switch finished := reason == market.EndedJobDone || reason == market.EndedUnfunded; {
		case l.State() == market.LeaseRunning:
			m.Running++
		case l.State() == market.LeaseEnded && finished:
			m.Done++
		default:
			changes = append(changes, change{max(l.EndedAt, l.StartedAt), -1})
		}
	}
	m.Short = m.Running+m.Done < least
	if !m.Short || m.Since == math.MaxInt64 {
		m.Since = 0
	}
	if !m.Short {
		return m
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), b.by-a.by) })
	ran := 0
	for _, c := range changes {
		if ran += c.by; ran == least-1 && c.by < 0 {
			m.Since = c.at
		}
	}
	return m
}
