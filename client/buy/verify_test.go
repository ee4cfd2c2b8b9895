package buy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

// auto measures machines whose last figure is older than two periods, and one lease in eight of the others.
func TestAutoMeasuresOldFiguresAndOneInEight(t *testing.T) {
	node := func(measured uint64, simulated uint8) *market.Node {
		var n market.Node
		n.MeasuredPeriod, n.Spec.Simulated = measured, simulated
		return &n
	}
	for name, c := range map[string]struct {
		n    *market.Node
		want int // of 256 draws
	}{
		"never measured":   {node(0, 0), 256},
		"now":              {node(100, 0), 32},
		"two periods ago":  {node(98, 0), 32},
		"three":            {node(97, 0), 256},
		"simulated, never": {node(0, 1), 0},
	} {
		got := 0
		for drawn := range 256 {
			if verifies(c.n, 100, byte(drawn)) {
				got++
			}
		}
		require.Equal(t, c.want, got, name)
	}
}

// A node promises what its class does, and what it has shown last if that is more.
func TestWhatANodePromises(t *testing.T) {
	var n market.Node
	require.Zero(t, promiseOf(&n))
	n.MinOperations, n.MinBandwidth, n.Operations = 700_000, 2_000_000, 900_000
	require.Equal(t, measure.Promise{Operations: 9e14, Bandwidth: 2e12}, promiseOf(&n))

	// Other programs may take some 60 % of the memory bandwidth of a simulated GPU. A GPU with a quarter of its speed is still found.
	n.Spec.Simulated = 1
	figures := format.Figures{Operations: 9e14, Bandwidth: 2e12 * 0.4}
	require.NoError(t, promiseOf(&n).Hold(figures))
	figures.Bandwidth = 2e12 / 4
	require.ErrorIs(t, promiseOf(&n).Hold(figures), measure.ErrSlow)
}

// What a command says of a measurement, by its outcome.
func TestVerifyJudges(t *testing.T) {
	good := measure.Result{Outcome: measure.Measured, Figures: format.Figures{Operations: 100, Bandwidth: 10}}
	judge := func(r measure.Result, p measure.Promise) (string, error) {
		m := Measurement{Result: r, Promise: p}
		if r.Outcome == measure.Measured {
			m.Slow = p.Hold(r.Figures)
		}
		return m.Outcome(), m.Judge()
	}
	outcome, err := judge(good, measure.Promise{Operations: 110})
	require.Equal(t, "measured", outcome)
	require.NoError(t, err)
	outcome, err = judge(good, measure.Promise{Operations: 200})
	require.Equal(t, "slow", outcome)
	require.ErrorContains(t, err, "50 % of the promised 200")
	require.Equal(t, service.CodeRefused, classify(err).Code)
	for o, why := range map[measure.Outcome]error{
		measure.Wrong: format.ErrCell, measure.Unknown: context.DeadlineExceeded, measure.Refused: &measure.RefusedError{Why: messages.MeasureTooMany},
	} {
		outcome, err := judge(measure.Result{Outcome: o, Why: why}, measure.Promise{})
		require.Equal(t, o.String(), outcome)
		require.ErrorContains(t, err, "does not pass")
	}
	_, err = judge(measure.Result{Outcome: measure.Refused, Why: &measure.RefusedError{Why: messages.MeasureJob}}, measure.Promise{})
	require.ErrorContains(t, err, "--beside-job")
}

func TestVerifyModes(t *testing.T) {
	for _, mode := range []string{"auto", "always", "never"} {
		require.NoError(t, checkMode("verify", mode))
	}
	err := checkMode("inspect", "sometimes")
	require.Equal(t, service.CodeUsage, classify(err).Code)
	require.ErrorContains(t, err, "--inspect")
}

// The second of an inspection is anywhere in what is left of the lease, and never after it.
func TestInspectionsAreDrawn(t *testing.T) {
	const left = time.Hour
	early, late := 0, 0
	for range 400 {
		wait, err := drawWait(left)
		require.NoError(t, err)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.Less(t, wait, left)
		if wait < left/2 {
			early++
		} else {
			late++
		}
	}
	require.Greater(t, early, 100)
	require.Greater(t, late, 100)
	wait, err := drawWait(0)
	require.NoError(t, err)
	require.Zero(t, wait)
	wait, err = drawWait(-time.Hour)
	require.NoError(t, err)
	require.Zero(t, wait, "what is left is less than an inspection takes")

	count := map[string]int{}
	for drawn := range 256 {
		for _, mode := range []string{Auto, Always, Never, ""} {
			if drawnFor(mode, false, byte(drawn)) {
				count[mode]++
			}
			if drawnFor(mode, true, byte(drawn)) {
				count[mode+" simulated"]++
			}
		}
	}
	require.Equal(t, map[string]int{"auto": 32, "always": 256, "always simulated": 256}, count)
}
