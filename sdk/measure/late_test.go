package measure

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/sdk/messages"
)

// late is a machine whose commitment comes after a time.
type late struct {
	tape
	now   *time.Time
	after time.Duration
}

func (l late) Join(ctx context.Context, item func(messages.MeasureItem) error) error {
	return l.tape.Join(ctx, func(m messages.MeasureItem) error {
		if m.Commitment != nil {
			*l.now = l.now.Add(l.after)
		}
		return item(m)
	})
}

// Of a machine that keepers measure, and whose memory is shown so late that another node may have had it, nothing is known. The
// same run is one for the lease's customer, who measures no other machine at the time, and what was computed wrongly stays wrong.
func TestMemoryThatIsShownLateMayBeAnothers(t *testing.T) {
	p := format.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 8}
	a, machine := record(t, p)
	b, wrong := recordOf(t, processor.Faulty{}, p)
	for name, c := range map[string]struct {
		asked    Asked
		machine  tape
		after    time.Duration
		together bool
		want     Outcome
	}{
		"in time":        {a, machine, format.MaxOverrun, true, Measured},
		"late":           {a, machine, format.MaxOverrun + time.Second, true, Unknown},
		"a customer's":   {a, machine, format.MaxOverrun + time.Second, false, Measured},
		"late and wrong": {b, wrong, format.MaxOverrun + time.Second, true, Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_800_000_000, 0)
			k := New(Options{Rand: zeros{}, Now: func() time.Time { return now }})
			c.asked.Start, c.asked.Together = now, c.together
			r := k.Measure(t.Context(), c.asked, late{c.machine, &now, c.after})
			require.Equal(t, c.want, r.Outcome, "%v", r.Why)
			require.Equal(t, c.want == Unknown, errors.Is(r.Why, ErrLate), "%v", r.Why)
		})
	}
}

// A simulated machine is measured by the times that it states, however late they come.
func TestASimulatedMachineMayBeLate(t *testing.T) {
	p := format.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 8}
	a, machine := record(t, p)
	now := time.Unix(1_800_000_000, 0)
	a.Start, a.Together, a.Simulated = now, true, true
	r := New(Options{Rand: zeros{}, Now: func() time.Time { return now }}).Measure(t.Context(), a, late{machine, &now, 5 * time.Second})
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
}
