package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// liveBlocks is a chain with a block every 400 ms of the clock, for as long as there are clocks.
type liveBlocks struct{}

const liveSlot = 400 * time.Millisecond

func (liveBlocks) Last(context.Context) (uint64, error) {
	return uint64(time.Now().UnixNano() / int64(liveSlot)), nil
}

func (l liveBlocks) At(ctx context.Context, slot uint64) (chain.Block, error) {
	if last, _ := l.Last(ctx); slot > last {
		return chain.Block{}, chain.ErrNoBlockYet
	}
	at := time.Unix(0, int64(slot)*int64(liveSlot)).Truncate(time.Second)
	return chain.Block{Slot: slot, Hash: sha256.Sum256(binary.LittleEndian.AppendUint64(nil, slot)), Time: at}, nil
}

func newTestInstants(t *testing.T, l *ledger, secs uint32, now func() time.Time) *instants {
	o := instantOptions{Chain: l, Domain: records.Domain{1}, PeriodSecs: secs, Now: now}
	options.Without(o, []string{"Log"}, func(field string, o instantOptions) {
		_, err := newInstants(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	s, err := newInstants(o)
	require.NoError(t, err)
	return s
}

// A keeper that reads each block when it comes, one that reads them late, and one that could not read some of them for a
// while find the same instant, none of them before its block.
func TestAllKeepersFindTheSameInstantNoneBeforeItsBlock(t *testing.T) {
	const length = 3600
	for p := records.Period(100); p < 130; p++ {
		start := int64(p) * length
		whole := newLedger(3600, start-30, func(i int) (uint64, int64) { return 1 + uint64(i%3), int64(i%2) + 1 })
		clock := time.Unix(start, 0)
		seen := &ledger{}
		early := newTestInstants(t, seen, length, func() time.Time { return clock })
		broken := newTestInstants(t, seen, length, func() time.Time { return clock })
		var first time.Time // at which the first keeper knows it
		down := errors.New("RPC is down")
		for i, b := range whole.blocks {
			if b.Time.Unix() >= start+length {
				break
			}
			seen.blocks, clock = whole.blocks[:i+1], b.Time
			if i%40 != 0 && i%7 != 0 {
				continue
			}
			if err := early.find(t.Context(), p); err != nil {
				require.ErrorIs(t, err, chain.ErrNoBlockYet)
			}
			if found, ok := early.get(p); ok && first.IsZero() {
				first = b.Time
				require.False(t, found.At.After(b.Time), "not before its block")
			}
			if i%3 > 0 {
				seen.fail = down
				if err := broken.find(t.Context(), p); err != nil {
					require.ErrorIs(t, err, down)
				}
				seen.fail = nil
			}
		}
		late := newTestInstants(t, whole, length, func() time.Time { return time.Unix(start+2*length, 0) })
		require.NoError(t, late.find(t.Context(), p))
		require.NoError(t, broken.find(t.Context(), p))
		want, ok := late.get(p)
		require.True(t, ok)
		for _, s := range []*instants{early, broken} {
			got, ok := s.get(p)
			require.True(t, ok)
			require.Equal(t, want, got)
		}
		require.LessOrEqual(t, first.Sub(want.At), 15*time.Second, "and soon after")
	}
}

// The search runs by itself, and asks the chain again after a failure.
func TestInstantsAreLookedFor(t *testing.T) {
	const length, start = 3600, 360_000
	l := newLedger(3600, start-30, func(int) (uint64, int64) { return 1, 1 })
	var clock atomic.Int64
	clock.Store(start - 1)
	s := newTestInstants(t, l, length, func() time.Time { return time.Unix(clock.Load(), 0) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	_, ok := s.get(start / length)
	require.False(t, ok)
	clock.Store(start + length - 1)
	var got instant.Instant
	require.Eventually(t, func() bool { got, ok = s.get(start / length); return ok }, waitLimit, 5*time.Millisecond)
	require.EqualValues(t, start/length, got.Period)
	for p := records.Period(start / length); p < start/length+20; p++ {
		s.get(p)
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.LessOrEqual(t, len(s.known), instantsKept+1)
}
