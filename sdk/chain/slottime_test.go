package chain_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
)

// steady is a chain on which every slot lasts the same.
type steady struct {
	slot  time.Duration
	asked *int
}

const steadyLast = 5_000_000

func (s steady) Last(context.Context) (uint64, error) { return steadyLast, nil }

func (s steady) At(_ context.Context, slot uint64) (chain.Block, error) {
	*s.asked++
	return chain.Block{Slot: slot, Time: time.Unix(1_700_000_000, 0).Add(time.Duration(slot) * s.slot).Truncate(time.Second)}, nil
}

// How long a slot lasts is read from the chain: validators have changed it and will again.
func TestNoSlotTimeIsAssumed(t *testing.T) {
	for _, slot := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 250 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second} {
		asked := 0
		s := steady{slot, &asked}
		last, err := s.At(t.Context(), steadyLast)
		require.NoError(t, err)
		want := last.Time.Add(-time.Hour)
		b, err := chain.FirstBlock(t.Context(), s, want)
		require.NoError(t, err)
		require.Equal(t, want, b.Time)
		before, err := s.At(t.Context(), b.Slot-1)
		require.NoError(t, err)
		require.True(t, before.Time.Before(want))
		t.Logf("slots of %s: %d questions", slot, asked)
		require.Less(t, asked, 32)
	}
}
