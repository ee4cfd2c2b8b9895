package market

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
)

// The figures are those of program/tests/tests/prove_better_ask.rs.
func TestFreeThroughout(t *testing.T) {
	n := &Node{}
	n.Spec.Gpus = 3
	n.StartAvailability(1_000)
	free, ok := n.FreeThroughout(1_001, 1_001)
	require.True(t, ok)
	require.EqualValues(t, 3, free)
	_, ok = n.FreeThroughout(1_000, 2_000)
	require.False(t, ok)
	for step := range int64(20) {
		now := 1_010 + step*1_000
		n.GpuMask = []uint16{0b111, 0b011, 0b001}[step%3]
		n.NoteFree(now)
		free, ok = n.FreeThroughout(now, now+5)
		require.True(t, ok)
		require.EqualValues(t, min(step%3, (step+2)%3), free, step)
	}
	_, ok = n.FreeThroughout(1_010, 1_010)
	require.False(t, ok)
}

func TestShortOrdersLeaveLongerIntervalsAlone(t *testing.T) {
	n := &Node{}
	n.Spec.Gpus = 2
	n.StartAvailability(1_000)
	for now := int64(1_100); now < 1_140; now += 2 {
		n.GpuMask = 1
		n.NoteFree(now)
		n.GpuMask = 0
		n.NoteFree(now + 1)
	}
	free, ok := n.FreeThroughout(1_001, 1_099)
	require.True(t, ok)
	require.EqualValues(t, 2, free)
	free, _ = n.FreeThroughout(1_001, 1_100)
	require.EqualValues(t, 1, free)
}

func TestHealth(t *testing.T) {
	n := &Node{}
	require.True(t, n.HealthyFor(5, 10))
	require.True(t, n.HealthyThroughout(5, 10))
	n.Unhealthy = bindings.Unhealthy{Since: 100, Until: 200, FormerUntil: 50}
	require.True(t, n.HealthyFor(99, 150), "ordered before")
	require.False(t, n.HealthyFor(100, 199))
	require.True(t, n.HealthyFor(100, 200), "over")
	require.True(t, n.HealthyThroughout(51, 99))
	require.False(t, n.HealthyThroughout(50, 99), "the one before was not over")
	require.False(t, n.HealthyThroughout(51, 100), "it was known")
	require.True(t, n.HealthyThroughout(201, 300))
}

func TestWhenANodeWasLeased(t *testing.T) {
	n := &Node{}
	n.Spec.Gpus = 2
	lease := func(now int64, mask, live uint16) {
		n.GpuMask, n.LiveLeases = mask, live
		n.NoteFree(now)
	}
	n.StartAvailability(1_000)
	require.Zero(t, n.FreedAt(), "it had no lease yet")
	require.False(t, n.LeasedWithin(0, 5_000))
	lease(2_000, 1, 1)
	require.Zero(t, n.FreedAt(), "it has one")
	require.True(t, n.LeasedWithin(9_000, 9_000))
	lease(2_100, 3, 2)
	lease(2_200, 2, 1)
	require.Zero(t, n.FreedAt(), "one of two is over")
	lease(2_300, 0, 0)
	require.EqualValues(t, 2_300, n.FreedAt())
	for from, want := range map[int64]bool{1_500: false, 1_990: true, 2_150: true, 2_300: true, 2_301: false} {
		require.Equal(t, want, n.LeasedWithin(from, from+10), from)
	}
	for i := range int64(100) { // however many there were since
		lease(3_000+20*i, 3, 1)
		lease(3_010+20*i, 0, 0)
		require.Equal(t, 3_010+20*i, n.FreedAt())
	}
}
