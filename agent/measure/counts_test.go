package measure

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Runs are counted by how they end, answers to keepers by why they refuse.
func TestCounts(t *testing.T) {
	f := newFixture(t, right1)
	require.Zero(t, f.Counts().Committed)
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 2)
	go f.end()
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment)
	require.NotEmpty(t, f.opens(t, 0, 0, 1).Answer)
	require.Equal(t, messages.MeasureOver, f.opens(t, 1, 0, 1).Refused)
	c := f.Counts()
	require.EqualValues(t, 1, c.Committed)
	require.EqualValues(t, 1, c.Opened)
	require.Equal(t, small.Memory(), c.Last.Figures.Memory)
	require.Equal(t, map[messages.MeasureRefusal]uint64{messages.MeasureOver: 1}, c.Refused)
	require.Empty(t, c.Ended)

	f.sets(true)
	require.NoError(t, f.Free(t.Context(), solana.PublicKey{}))
	require.Equal(t, messages.MeasureLease, f.refused(t, 1, block(period, 0)))
	after := f.Counts()
	require.Equal(t, map[messages.MeasureRefusal]uint64{messages.MeasureLease: 1}, after.Ended)
	require.Empty(t, after.Trouble(), "a lease is no trouble")
	require.Equal(t, map[messages.MeasureRefusal]uint64{messages.MeasureOver: 1, messages.MeasureLease: 1}, after.Refused)
	require.Empty(t, c.Ended, "what was returned does not change")
}

// The figures shown are of the slowest GPU in each; a run without a round has none.
func TestFiguresAreOfTheSlowestGPU(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	gpus := []GPU{{Profile: small}, {Profile: small}}
	entries := []format.Entry{{Rounds: 1, Walks: 3}, {Rounds: 1, Walks: 1}}
	one := func(i int, came []time.Time) format.Figures {
		return format.Measured(small, entries[i], format.Timing{Start: began, Roots: came, Commitment: at(10)})
	}
	fast, slow := []time.Time{at(2)}, []time.Time{at(4)}
	got := least(gpus, entries, began, at(10), [][]time.Time{slow, fast})
	require.Equal(t, one(0, slow).Operations, got.Operations)
	require.Equal(t, one(1, fast).Bandwidth, got.Bandwidth)
	require.Less(t, got.Operations, one(1, fast).Operations)
	require.Less(t, got.Bandwidth, one(0, slow).Bandwidth)
	entries[1].Rounds = 0
	require.Zero(t, least(gpus, entries, began, at(10), [][]time.Time{slow, nil}))
}
