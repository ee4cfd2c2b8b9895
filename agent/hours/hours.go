// Package hours decides when a machine offers its GPUs. The hours are times of a week in local time, such as "weekdays
// 19:00-08:00; weekends".
//
// A moment lies within the hours if the local clock shows a time within them. So on the day when summer time begins,
// the hour that the clock skips is never within the hours. On the day when summer time ends, the clock shows one hour
// twice; both are within the hours, or neither is.
package hours

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // machines without a zone database know the zones too
)

// ErrHours is the error of hours that cannot be read.
var ErrHours = errors.New("hours cannot be used")

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay
)

// Schedule is when a machine offers its GPUs. The zero Schedule is always.
type Schedule struct {
	text string
	zone *time.Location
	// open has the minutes of a week by the wall clock, from Sunday 00:00; nil for all of them.
	open *[minutesOfWeek]bool
}

// String is the text that was parsed; "always" without any.
func (s Schedule) String() string {
	if s.text == "" {
		return "always"
	}
	if s.zone == time.Local {
		return s.text
	}
	return s.text + " (" + s.zone.String() + ")"
}

// Always reports whether the hours never end.
func (s Schedule) Always() bool { return s.open == nil }

// Of is how many of n hours lie within the schedule on average, by a week without a change of the clock; rounded down.
func (s Schedule) Of(n uint64) uint64 {
	if s.open == nil {
		return n
	}
	open := uint64(0)
	for _, is := range s.open {
		if is {
			open++
		}
	}
	return n * open / minutesOfWeek
}

// Open reports whether a moment lies within the hours.
func (s Schedule) Open(t time.Time) bool {
	return s.open == nil || s.open[minuteOf(t.In(s.zone))]
}

// minuteOf is the minute of the week that the wall clock shows.
func minuteOf(t time.Time) int {
	return int(t.Weekday())*minutesOfDay + t.Hour()*60 + t.Minute()
}

// horizon is how far ahead a change is looked for: a window of one time a week that the clock skips is there a week later.
const horizon = 22 * 24 * time.Hour

// Change is the first moment after t at which the hours end, or begin; ok is false if they never do.
func (s Schedule) Change(t time.Time) (at time.Time, ok bool) {
	if s.open == nil {
		return time.Time{}, false
	}
	now, limit := s.Open(t), t.Add(horizon)
	for at = t.In(s.zone); at.Before(limit); {
		// Up to end the wall clock runs evenly.
		_, end := at.ZoneBounds()
		at = s.evenly(at, now)
		if !end.IsZero() && !at.Before(end) {
			at = end
		}
		if s.Open(at) != now {
			return at, true
		}
	}
	return time.Time{}, false
}

// evenly is the first moment after t, which is open or not as said, at which a clock that runs evenly shows a minute of the other
// kind; a week later if there is none.
func (s Schedule) evenly(t time.Time, open bool) time.Time {
	from := minuteOf(t)
	into := time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
	for n := 1; n <= minutesOfWeek; n++ {
		if s.open[(from+n)%minutesOfWeek] != open {
			return t.Add(time.Duration(n)*time.Minute - into)
		}
	}
	return t.Add(minutesOfWeek * time.Minute)
}

// Covers reports whether all moments from from to to lie within the hours.
func (s Schedule) Covers(from, to time.Time) bool {
	if !s.Open(from) {
		return false
	}
	end, ends := s.Change(from)
	return !ends || !to.After(end)
}

// zoneOf finds a zone by its IANA name; empty for the machine's own.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("%w: there is no time zone %q; use a name such as Europe/Berlin or UTC, or none for this machine's own", ErrHours, name)
	}
	return zone, nil
}
