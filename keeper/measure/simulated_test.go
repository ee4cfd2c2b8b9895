package measure

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

// stating states other times than those that it took.
type stating struct {
	format.Device
	chain, walk time.Duration
}

func (s stating) Run(ctx context.Context, t format.Task, ended func(uint32, format.Hash)) (format.Run, error) {
	r, err := s.Device.Run(ctx, t, ended)
	return statedRun{r, s}, err
}

type statedRun struct {
	format.Run
	of stating
}

func (r statedRun) Result() format.Result {
	out := r.Run.Result()
	out.Chain, out.Walk = r.of.chain, r.of.walk
	return out
}

// The figures of a simulated machine are by the times that it states, those of any other by the keeper's clock.
func TestASimulatedMachineIsMeasuredByItsOwnTimes(t *testing.T) {
	const hour = 3600
	m := newMachine(t, stating{processor.Simulated(), hour * time.Second, hour * time.Second}).start(t)
	n := m.node()
	plain := m.member(t).Measure(t.Context(), n, block(period, 0), time.Now())
	require.Equal(t, Measured, plain.Outcome, "%v", plain.Why)
	n.Simulated = true
	stated := m.member(t).Measure(t.Context(), n, block(period, 0), time.Now())
	require.Equal(t, Measured, stated.Outcome, "%v", stated.Why)

	rounds := stated.Figures.Operations * hour / (2 << 30)
	require.GreaterOrEqual(t, rounds, 2.0)
	require.InDelta(t, rounds, float64(int(rounds+0.5)), 1e-6, "a whole number of them in the stated time")
	require.Greater(t, plain.Figures.Operations, 10*stated.Figures.Operations)
	require.Greater(t, plain.Figures.Bandwidth, 10*stated.Figures.Bandwidth)
}
