package records

import (
	"fmt"
	"math"
	"time"
)

// Period numbers the market's reporting periods: period p covers [p*length, (p+1)*length) of unix time.
type Period uint64

// PeriodAt returns the period that contains the moment. length is the market's period length and must be a positive
// whole number of seconds.
// Error: ErrValue.
func PeriodAt(at time.Time, length time.Duration) (Period, error) {
	secs, err := periodSeconds(length)
	if err != nil {
		return 0, err
	}
	unix := at.Unix()
	if unix < 0 {
		return 0, fmt.Errorf("time %s lies before 1970: %w", at, ErrValue)
	}
	return Period(uint64(unix) / secs), nil
}

// Start returns the first moment of the period; a period beyond the range of time gives the latest representable
// second.
func (p Period) Start(length time.Duration) time.Time {
	secs, err := periodSeconds(length)
	if err != nil {
		return time.Time{}
	}
	if p != 0 && uint64(p) > math.MaxInt64/secs {
		return time.Unix(math.MaxInt64/2, 0).UTC()
	}
	return time.Unix(int64(uint64(p)*secs), 0).UTC()
}

// End returns the first moment after the period.
func (p Period) End(length time.Duration) time.Time { return (p + 1).Start(length) }

// Contains reports whether the moment lies in the period.
func (p Period) Contains(at time.Time, length time.Duration) bool {
	q, err := PeriodAt(at, length)
	return err == nil && q == p
}

// Overlap returns how much of [from, to) lies in the period, never negative.
func (p Period) Overlap(from, to time.Time, length time.Duration) time.Duration {
	if s := p.Start(length); from.Before(s) {
		from = s
	}
	if e := p.End(length); to.After(e) {
		to = e
	}
	return max(0, to.Sub(from))
}

func periodSeconds(length time.Duration) (uint64, error) {
	if length < time.Second || length%time.Second != 0 {
		return 0, fmt.Errorf("period length %s is not a positive number of whole seconds: %w", length, ErrValue)
	}
	return uint64(length / time.Second), nil
}
